// Loadgen drives one server with a number of concurrent clients in a closed loop and prints what it measured as JSON.
//
// It is the same program for all sides, in Go, so that the client costs them about the same. Against a kraft controller
// each client creates topics through a shared Session, against one of Kafka's over a connection of its own; against etcd
// each puts a value of 128 bytes over one connection, and against ZooKeeper each creates a node of 128 bytes. With -batch
// each request carries that many topics, or a transaction of that many writes. With -requests it ends after so many
// instead of after -seconds. In Kafka's protocol -partitions says how large topics are, and -producer-ids asks for blocks of
// producer ids instead. With -trace it writes each write's end and latency to a file. With -probe it measures how
// long nothing can be written after a leader's death, with -first when the first write is acknowledged. With -broker it
// is a broker that holds nothing, registered with Kafka's controllers.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
)

// With windows of a fixed size a connection is not probed with a ping beside each answer, which would make both servers
// send twice as much.
func fixedWindows() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithInitialWindowSize(4 << 20), grpc.WithInitialConnWindowSize(4 << 20)}
}

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

// Load is what is asked of a target: for a length of time after a warm-up, or, if requests is not 0, so many of them.
type Load struct {
	clients, batch int
	warmup, length time.Duration
	requests       uint64
	trace          string
}

// A write that was acknowledged: when, in nanoseconds since 1970, and after how many milliseconds.
type sample struct {
	done    int64
	latency float64
}

func run(target Target, load Load) ([]sample, error) {
	ctx, cancel := context.WithTimeout(context.Background(), load.warmup+load.length+30*time.Second)
	defer cancel()
	begin := time.Now().Add(load.warmup)
	end := begin.Add(load.length)
	clients, prefixed := load.clients, new(atomic.Uint64)
	latencies := make([][]sample, clients)
	failures := make(chan error, clients)
	var wait sync.WaitGroup
	for client := range clients {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for {
				sent := time.Now()
				sequence := prefixed.Add(1)
				if sent.After(end) || (load.requests > 0 && sequence > load.requests) {
					return
				}
				if err := target.Write(ctx, client, sequence, load.batch); err != nil {
					failures <- err
					return
				}
				done := time.Now()
				if sent.After(begin) && !done.After(end) {
					taken := float64(done.Sub(sent).Microseconds()) / 1000
					latencies[client] = append(latencies[client], sample{done: done.UnixNano(), latency: taken})
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

// Asked is what is asked of a target, where that can be chosen: of one of Kafka's protocol only.
type Asked struct {
	partitions    int32
	isProducerIDs bool
}

// As all targets understand it.
var createTopics = Asked{partitions: 1}

func open(kind, address, prefix string, asked Asked) (Target, error) {
	if kind != "kafka" && asked != createTopics {
		return nil, fmt.Errorf("-partitions and -producer-ids are for -target kafka, not %s", kind)
	}
	switch kind {
	case "kraft":
		return openKraft(address, prefix)
	case "etcd":
		return openEtcd(address, prefix)
	case "kafka":
		return openKafka(address, prefix, asked.partitions, asked.isProducerIDs)
	case "zookeeper":
		return openZooKeeper(address, prefix)
	}
	return nil, fmt.Errorf("-target is kraft, etcd, kafka or zookeeper, not %q", kind)
}

func measure(kind string, target Target, load Load) error {
	began := time.Now()
	samples, err := run(target, load)
	if err != nil {
		return err
	}
	all := make([]float64, len(samples))
	for i, one := range samples {
		all[i] = one.latency
	}
	if load.trace != "" {
		if err := writeTrace(load.trace, samples); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("nothing was acknowledged in %v", load.length)
	}
	seconds := load.length.Seconds()
	if load.requests > 0 {
		seconds = time.Since(began).Seconds()
	}
	slices.Sort(all)
	return json.NewEncoder(os.Stdout).Encode(Result{
		Target: kind, Clients: load.clients, Batch: load.batch, Seconds: seconds, Requests: len(all),
		PerSec: float64(len(all)*load.batch) / seconds,
		P50:    all[len(all)/2], P99: all[len(all)*99/100], Max: all[len(all)-1],
	})
}

func writeTrace(path string, samples []sample) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	lines := bufio.NewWriter(file)
	for _, one := range samples {
		fmt.Fprintf(lines, "%d %.3f\n", one.done, one.latency)
	}
	return errors.Join(lines.Flush(), file.Close())
}

func main() {
	kind := flag.String("target", "kraft", "kraft, etcd, kafka or zookeeper")
	address := flag.String("address", "", "host:port of the leader; with -probe of all servers, separated by commas")
	clients := flag.Int("clients", 1, "concurrent clients")
	batch := flag.Int("batch", 1, "writes in a request")
	seconds := flag.Float64("seconds", 5, "how long to measure")
	warmup := flag.Float64("warmup", 1, "how long to run before measuring")
	requests := flag.Uint64("requests", 0, "end after so many requests, measured from the first")
	prefix := flag.String("prefix", fmt.Sprintf("t%x", time.Now().UnixNano()), "of every name written")
	trace := flag.String("trace", "", "a file for the end (ns since 1970) and the latency (ms) of each write")
	isProbe := flag.Bool("probe", false, "measure the time without a leader; see probe.go")
	isFirst := flag.Bool("first", false, "print when the first write was acknowledged (ns since 1970)")
	broker := flag.String("broker", "", "be a broker of the Kafka cluster with this id")
	partitions := flag.Int("partitions", 1, "of each topic that is created (kafka)")
	isProducerIDs := flag.Bool("producer-ids", false, "allocate blocks of producer ids instead of creating topics (kafka)")
	flag.Parse()
	asked := Asked{partitions: int32(*partitions), isProducerIDs: *isProducerIDs}
	load := Load{clients: *clients, batch: *batch, requests: *requests, trace: *trace}
	load.length = time.Duration(*seconds * float64(time.Second))
	load.warmup = time.Duration(*warmup * float64(time.Second))
	if load.requests > 0 {
		load.length, load.warmup = time.Hour, 0
	}
	var err error
	addresses := strings.Split(*address, ",")
	switch {
	case *broker != "":
		err = runBroker(addresses, *broker)
	case *isProbe:
		err = probe(*kind, addresses, *prefix)
	case *isFirst:
		err = first(*kind, addresses, *prefix)
	default:
		var target Target
		if target, err = open(*kind, *address, *prefix, asked); err == nil {
			err = measure(*kind, target, load)
			target.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}
