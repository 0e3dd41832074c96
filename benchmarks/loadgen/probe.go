package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	probeEvery   = 5 * time.Millisecond
	probeTimeout = time.Second
	probeEnd     = time.Minute
)

// Probe sends one write to every address each 5 ms, whatever became of the ones before, so that what it finds does not
// depend on how a client library waits and retries. It prints "ready" at the first acknowledgement. Then it reads from
// its input at which time (nanoseconds since 1970) a server was killed, and prints for how many milliseconds nothing
// could be written: from then until the first acknowledgement of a write that was begun later.
func probe(kind string, addresses []string, prefix string) error {
	acknowledged := make(chan ack, 65536)
	ctx, cancel := context.WithTimeout(context.Background(), probeEnd)
	defer cancel()
	var sequence atomic.Uint64
	var wait sync.WaitGroup
	for _, address := range addresses {
		target, err := open(kind, address, prefix, createTopics)
		if err != nil {
			return err
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			sendProbes(ctx, target, &sequence, acknowledged)
		}()
	}
	defer wait.Wait()
	defer cancel()
	if _, err := nextAck(ctx, acknowledged, time.Time{}); err != nil {
		return err
	}
	fmt.Println("ready")
	var nanoseconds int64
	if _, err := fmt.Scan(&nanoseconds); err != nil {
		return err
	}
	killed := time.Unix(0, nanoseconds)
	first, err := nextAck(ctx, acknowledged, killed)
	if err != nil {
		return err
	}
	fmt.Printf("%.3f\n", float64(first.done.Sub(killed).Microseconds())/1000)
	return nil
}

type ack struct{ sent, done time.Time }

func sendProbes(ctx context.Context, target Target, sequence *atomic.Uint64, acknowledged chan<- ack) {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		go func() {
			limited, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			sent := time.Now()
			if target.Write(limited, 0, sequence.Add(1), 1) == nil {
				acknowledged <- ack{sent: sent, done: time.Now()}
			}
		}()
	}
}

func nextAck(ctx context.Context, acknowledged <-chan ack, after time.Time) (ack, error) {
	for {
		select {
		case one := <-acknowledged:
			if one.sent.After(after) {
				return one, nil
			}
		case <-ctx.Done():
			return ack{}, fmt.Errorf("nothing was acknowledged within %v", probeEnd)
		}
	}
}

// First sends one write after another to every address, over a new connection where the last one failed, until one is
// acknowledged, and prints when that was, in nanoseconds since 1970.
func first(kind string, addresses []string, prefix string) error {
	acknowledged := make(chan ack, 64)
	ctx, cancel := context.WithTimeout(context.Background(), probeEnd)
	defer cancel()
	var sequence atomic.Uint64
	for _, address := range addresses {
		go func() {
			for ctx.Err() == nil {
				target, err := open(kind, address, prefix, createTopics)
				if err != nil {
					time.Sleep(probeEvery)
					continue
				}
				tryUntilRefused(ctx, target, &sequence, acknowledged)
				go target.Close() // which may wait for who does not answer
				time.Sleep(probeEvery)
			}
		}()
	}
	one, err := nextAck(ctx, acknowledged, time.Time{})
	if err != nil {
		return err
	}
	fmt.Println(one.done.UnixNano())
	return nil
}

func tryUntilRefused(ctx context.Context, target Target, sequence *atomic.Uint64, acknowledged chan<- ack) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, probeTimeout)
		sent := time.Now()
		err := target.Write(limited, 0, sequence.Add(1), 1)
		cancel()
		if err != nil {
			return
		}
		select {
		case acknowledged <- ack{sent: sent, done: time.Now()}:
		default: // one was enough
		}
	}
}
