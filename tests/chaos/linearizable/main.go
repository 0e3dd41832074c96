// Linearizable says whether a history of creations, deletions and reads of topics is linearizable, name by name.
//
//	linearizable [-timeout 60s] [-pictures DIRECTORY] HISTORY
//
// The checker is Porcupine. An operation of unknown outcome stays open until the end: it may have been done at any time
// after it was asked, or never. One that was not done is left out; so are reads that do not claim to be linearizable.
// Prints one line of JSON. Ends with 0 if all of it is linearizable, 1 if a name is not (a page with the picture of each
// goes to DIRECTORY), 3 if time was too short to tell, 2 if the history cannot be read.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is what is printed.
type Verdict struct {
	Names      int      `json:"names"`
	Operations int      `json:"operations"`
	Open       int      `json:"open"`
	Illegal    []string `json:"illegal"`
	Undecided  []string `json:"undecided"`
}

const longestLine = 1 << 20

func readHistory(path string) (map[string][]porcupine.Operation, Told, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	names, told, end := map[string][]porcupine.Operation{}, Told{}, int64(0)
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var op Operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		if op.Outcome == "not-done" || op.Kind == "read-at-least" || (op.Kind == "read" && op.Outcome == unknown) {
			continue
		}
		if op.Kind == "create" && op.Outcome == ok {
			told[op.TopicID] = true
		}
		if op.Returned > end {
			end = op.Returned
		}
		names[op.Name] = append(names[op.Name], porcupine.Operation{
			ClientId: op.Client, Input: op, Call: op.Called, Output: op.Outcome, Return: op.Returned,
		})
	}
	for _, operations := range names {
		for i := range operations {
			if operations[i].Output == unknown {
				operations[i].Return = end + 1
			}
		}
	}
	return names, told, lines.Err()
}

func check(names map[string][]porcupine.Operation, told Told, timeout time.Duration, pictures string) (Verdict, error) {
	verdict := Verdict{Names: len(names), Illegal: []string{}, Undecided: []string{}}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	model := told.model()
	for _, name := range sorted {
		operations := names[name]
		verdict.Operations += len(operations)
		for _, op := range operations {
			if op.Output == unknown {
				verdict.Open++
			}
		}
		result, info := porcupine.CheckOperationsVerbose(model, operations, timeout)
		switch result {
		case porcupine.Illegal:
			verdict.Illegal = append(verdict.Illegal, name)
			if pictures != "" {
				if err := porcupine.VisualizePath(model, info, filepath.Join(pictures, name+".html")); err != nil {
					return verdict, err
				}
			}
		case porcupine.Unknown:
			verdict.Undecided = append(verdict.Undecided, name)
		}
	}
	return verdict, nil
}

func main() {
	timeout := flag.Duration("timeout", time.Minute, "how long to search for one name")
	pictures := flag.String("pictures", "", "where the pictures of what is not linearizable go")
	flag.Parse()
	names, told, err := readHistory(flag.Arg(0))
	var verdict Verdict
	if err == nil {
		verdict, err = check(names, told, *timeout, *pictures)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "linearizable:", err)
		os.Exit(2)
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdict); err != nil {
		fmt.Fprintln(os.Stderr, "linearizable:", err)
		os.Exit(2)
	}
	switch {
	case len(verdict.Illegal) > 0:
		os.Exit(1)
	case len(verdict.Undecided) > 0:
		os.Exit(3)
	}
}
