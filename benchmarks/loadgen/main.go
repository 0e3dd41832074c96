// Loadgen drives one server with a number of concurrent clients in a closed loop and prints what it measured as JSON.
//
// It is the same program for both sides, so that the client costs both the same: gRPC in Go over one connection. Against
// a kraft controller each client creates topics through a shared Session; against etcd each puts a value of 128 bytes.
// With -batch each request carries that many topics, or a transaction of that many puts.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Target is a server under load.
type Target interface {
	// Write does one request of batch writes, all new, and returns when it is acknowledged.
	Write(ctx context.Context, client int, sequence uint64, batch int) error
	Close()
}

// Result is what one run measured. Latencies are of whole requests, in milliseconds.
type Result struct {
	Target   string  `json:"target"`
	Clients  int     `json:"clients"`
	Batch    int     `json:"batch"`
	Seconds  float64 `json:"seconds"`
	Requests int     `json:"requests"`
	PerSec   float64 `json:"writes_per_second"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Max      float64 `json:"max_ms"`
}

func run(target Target, clients, batch int, warmup, length time.Duration, prefixed *atomic.Uint64) ([]float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), warmup+length+30*time.Second)
	defer cancel()
	begin := time.Now().Add(warmup)
	end := begin.Add(length)
	latencies := make([][]float64, clients)
	failures := make(chan error, clients)
	var wait sync.WaitGroup
	for client := range clients {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for {
				sent := time.Now()
				if sent.After(end) {
					return
				}
				if err := target.Write(ctx, client, prefixed.Add(1), batch); err != nil {
					failures <- err
					return
				}
				done := time.Now()
				if sent.After(begin) && !done.After(end) {
					latencies[client] = append(latencies[client], float64(done.Sub(sent).Microseconds())/1000)
				}
			}
		}()
	}
	wait.Wait()
	select {
	case err := <-failures:
		return nil, err
	default:
	}
	return slices.Concat(latencies...), nil
}

func open(kind, address, prefix string) (Target, error) {
	switch kind {
	case "kraft":
		return openKraft(address, prefix)
	case "etcd":
		return openEtcd(address, prefix)
	}
	return nil, fmt.Errorf("-target is kraft or etcd, not %q", kind)
}

func main() {
	kind := flag.String("target", "kraft", "kraft or etcd")
	address := flag.String("address", "", "host:port of the leader")
	clients := flag.Int("clients", 1, "concurrent clients")
	batch := flag.Int("batch", 1, "writes in a request")
	seconds := flag.Float64("seconds", 5, "how long to measure")
	warmup := flag.Float64("warmup", 1, "how long to run before measuring")
	prefix := flag.String("prefix", fmt.Sprintf("t%x", time.Now().UnixNano()), "of every name written")
	flag.Parse()
	target, err := open(*kind, *address, *prefix)
	if err == nil {
		defer target.Close()
		var all []float64
		length := time.Duration(*seconds * float64(time.Second))
		all, err = run(target, *clients, *batch, time.Duration(*warmup*float64(time.Second)), length, new(atomic.Uint64))
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("nothing was acknowledged in %v", length)
		}
		if err == nil {
			slices.Sort(all)
			err = json.NewEncoder(os.Stdout).Encode(Result{
				Target: *kind, Clients: *clients, Batch: *batch, Seconds: *seconds, Requests: len(all),
				PerSec: float64(len(all)**batch) / *seconds,
				P50:    all[len(all)/2], P99: all[len(all)*99/100], Max: all[len(all)-1],
			})
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}
