// mace-check checks certificates of mace, format 2, by ../FORMAT.md alone: a second checker beside ../check.py.
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sort"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: mace-check FILE-OR-FOLDER ...    or: mace-check - (names of files, one a line, from standard input)")
		os.Exit(exitCodes[unusable])
	}
	debug.SetMaxStack(256 << 20)
	debug.SetGCPercent(400) // proofs are many small numbers: else a third of the time goes into looking for unused ones
	debug.SetMemoryLimit(1 << 30)
	if len(os.Args) == 2 && os.Args[1] == "-" {
		names := bufio.NewScanner(os.Stdin)
		for names.Scan() {
			fmt.Printf("%s: %s\n", names.Text(), check(names.Text()))
		}
		return
	}
	files, folders := certificates(os.Args[1:])
	if len(files) == 1 && !folders {
		v := check(files[0])
		fmt.Println(v)
		os.Exit(exitCodes[v.kind])
	}
	count := map[string]int{}
	for _, file := range files {
		v := check(file)
		count[v.kind]++
		fmt.Printf("%s: %s\n", file, v)
	}
	fmt.Printf("%d accepted, %d refused, %d unusable\n", count[accepted], count[refused], count[unusable])
	os.Exit(worst(count))
}

// certificates lists the files that are meant; of a folder all that end in .json or .json.gz and are not models.
func certificates(arguments []string) (files []string, folders bool) {
	for _, argument := range arguments {
		info, err := os.Stat(argument)
		if err != nil || !info.IsDir() {
			files = append(files, argument)
			continue
		}
		folders = true
		entries, _ := os.ReadDir(argument)
		var inside []string
		for _, entry := range entries {
			name := entry.Name()
			model := strings.HasSuffix(name, ".model.json.gz")
			if !model && (strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".json.gz")) {
				inside = append(inside, filepath.Join(argument, name))
			}
		}
		sort.Strings(inside)
		files = append(files, inside...)
	}
	return files, folders
}

// worst returns the exit code of several certificates: 0 only if all, and at least one, are accepted.
func worst(count map[string]int) int {
	switch {
	case count[refused] > 0:
		return exitCodes[refused]
	case count[unusable] > 0 || count[accepted] == 0:
		return exitCodes[unusable]
	}
	return exitCodes[accepted]
}
