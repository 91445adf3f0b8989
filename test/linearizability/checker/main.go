// Checks a history for linearizability with Porcupine, object by object: a history is linearizable if and only
// if that of each object is. The file has one operation a line, as test/linearizability/README.md says. Exit
// code 1: a violation was found. 2: the history could not be read, or an object took too long.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

type Input struct {
	Op      string `json:"op"`
	ID      string `json:"id,omitempty"`      // of the secret, where the request names it; "session" for a session token
	Value   string `json:"value,omitempty"`   // that is written
	Version int    `json:"version,omitempty"` // that If-Match requires
	Limit   int    `json:"limit,omitempty"`   // of the budget
}

type Output struct {
	Status    int    `json:"status"`
	ID        string `json:"id,omitempty"`
	Value     string `json:"value,omitempty"`
	Version   int    `json:"version,omitempty"`
	Remaining *int   `json:"remaining,omitempty"` // of the budget, after this use
}

type Line struct {
	Client int     `json:"client"`
	Object string  `json:"object"` // kind and name
	Region string  `json:"region"` // that answered, if the service has replicas
	Input  Input   `json:"input"`
	Output *Output `json:"output"` // null: the outcome is not known
	Call   int64   `json:"call"`
	Return *int64  `json:"return"`
}

func main() {
	page := flag.String("html", "", "where to draw a history that is not linearizable")
	patience := flag.Duration("timeout", time.Minute, "for each object")
	flag.Parse()
	objects, err := read(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := 0
	for _, name := range sorted(objects) {
		kind, _, _ := strings.Cut(name, " ")
		checked, ok := modelOf[kind]
		if !ok {
			fmt.Fprintf(os.Stderr, "%s: no model of this kind\n", name)
			os.Exit(2)
		}
		result, info := porcupine.CheckOperationsVerbose(checked, objects[name], *patience)
		switch result {
		case porcupine.Illegal:
			fmt.Printf("%s: not linearizable\n%s", name, last(objects[name], info))
			if *page != "" && porcupine.VisualizePath(checked, info, *page) == nil {
				fmt.Printf("  drawn in %s\n", *page)
			}
			os.Exit(1)
		case porcupine.Unknown:
			fmt.Printf("%s: not decided in %s\n", name, *patience)
			code = 2
		}
	}
	fmt.Println(summary(objects))
	os.Exit(code)
}

// read returns the operations of each object. One without an outcome returns after all others, and its client
// goes on as another one, since a client has one operation at a time.
func read(file string) (map[string][]porcupine.Operation, error) {
	text, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	objects := map[string][]porcupine.Operation{}
	lost := 1000
	for lines := json.NewDecoder(text); ; {
		var line Line
		if err := lines.Decode(&line); err == io.EOF {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		one := porcupine.Operation{ClientId: line.Client, Input: line.Input, Output: line.Output, Call: line.Call}
		if line.Return != nil {
			one.Return = *line.Return
		} else {
			one.Return = math.MaxInt64
			one.ClientId = lost
			lost++
		}
		objects[line.Object] = append(objects[line.Object], one)
	}
}

func sorted(objects map[string][]porcupine.Operation) []string {
	names := make([]string, 0, len(objects))
	for name := range objects {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// last shows the end of the longest order that is possible, and the first operation that has no place in it.
func last(operations []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []int
	for _, order := range info.PartialLinearizations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	placed := map[int]bool{}
	for _, at := range longest {
		placed[at] = true
	}
	first := -1
	for at, one := range operations {
		if !placed[at] && (first < 0 || one.Return < operations[first].Return) {
			first = at
		}
	}
	shown := ""
	for _, at := range longest[max(0, len(longest)-5):] {
		shown += "  then  " + show(operations[at]) + "\n"
	}
	return shown + "  never " + show(operations[first]) + "\n"
}

func show(one porcupine.Operation) string {
	if one.Return == math.MaxInt64 {
		return fmt.Sprintf("[%d, …] %s", one.Call, describe(one.Input, one.Output))
	}
	return fmt.Sprintf("[%d, %d] %s", one.Call, one.Return, describe(one.Input, one.Output))
}

func describe(input, output any) string {
	asked, _ := json.Marshal(input)
	answered, _ := json.Marshal(output)
	return fmt.Sprintf("%s → %s", asked, answered)
}

func summary(objects map[string][]porcupine.Operation) string {
	all, open := 0, 0
	kinds := map[string]int{}
	for name, operations := range objects {
		kind, _, _ := strings.Cut(name, " ")
		kinds[kind]++
		all += len(operations)
		for _, one := range operations {
			if one.Return == math.MaxInt64 {
				open++
			}
		}
	}
	return fmt.Sprintf("%d operations, %d without an outcome; secrets %d, credentials %d, budgets %d: linearizable",
		all, open, kinds["secret"], kinds["credential"], kinds["budget"]+kinds["bound"])
}
