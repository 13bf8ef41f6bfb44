"""Compiles and runs models exported as source code (java, go, python), and returns their scores to the last bit.
Standard library only. Documents pass as the bits of doubles."""
import os
import shutil
import struct
import subprocess
import sys

# Each line is a document: bits of doubles in hexadecimal, or 'w' and the UTF-8 of a word. The scores are bits, too.
JAVA = """import java.nio.charset.StandardCharsets;

public class Main {
    static double value(int feature, String text) {
        if (text.charAt(0) != 'w')
            return Double.longBitsToDouble(Long.parseUnsignedLong(text, 16));
        byte[] word = new byte[text.length() / 2];
        for (int i = 0; i < word.length; i++)
            word[i] = (byte) Integer.parseInt(text.substring(2 * i + 1, 2 * i + 3), 16);
        return CATEGORY(feature, new String(word, StandardCharsets.UTF_8));
    }

    static double number(int feature, String word) {
        throw new IllegalArgumentException(word);
    }

    public static void main(String[] arguments) {
        double[][] rows = new java.io.BufferedReader(new java.io.InputStreamReader(System.in)).lines().map(line -> {
            String[] text = line.split(" ");
            double[] x = new double[text.length];
            for (int i = 0; i < x.length; i++)
                x[i] = value(i, text[i]);
            return x;
        }).toArray(double[][]::new);
        for (double score : Model.scores(rows))
            System.out.println(Long.toHexString(Double.doubleToRawLongBits(score)));
    }
}
"""
GO = """package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"test/model"
)

func number(feature int, word string) float64 { panic(word) }

func main() {
	var rows [][]float64
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var x []float64
		for i, text := range strings.Split(lines.Text(), " ") {
			bits, err := strconv.ParseUint(text, 16, 64)
			if text[0] != 'w' && err != nil {
				panic(err)
			}
			x = append(x, math.Float64frombits(bits))
			if text[0] == 'w' {
				word, _ := hex.DecodeString(text[1:])
				x[i] = CATEGORY(i, string(word))
			}
		}
		rows = append(rows, x)
	}
	for _, score := range model.Scores(rows) {
		fmt.Printf("%x\\n", math.Float64bits(score))
	}
}
"""
PYTHON = """import os, struct, sys

sys.path.insert(0, os.getcwd())
import model

def value(feature, text):
    if text[0] == "w":
        return model.category(feature, bytes.fromhex(text[1:]).decode())
    return struct.unpack(">d", bytes.fromhex(text))[0]

rows = [[value(*place) for place in enumerate(line.split())] for line in sys.stdin]
for score in model.scores(rows):
    print(struct.pack(">d", score).hex())
"""
LANGUAGES = ("java", "go", "python")
NAMES = {"c": "model.c", "java": "Model.java", "go": "model/model.go", "python": "model.py"}


def missing_tool(language):
    """The name of a program that compiles or runs the language and is not installed, or None."""
    wanted = {"java": ("javac", "java"), "go": ("go",), "python": ()}[language]
    return next((tool for tool in wanted if not shutil.which(tool)), None)


def version(language):
    """Such as 'javac 17.0.15', 'go1.19.8' or 'Python 3.11.2'."""
    command = {"java": "javac -version", "go": "go version", "python": f"{sys.executable} --version"}[language]
    words = subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout.split()
    return words[2] if language == "go" else " ".join(words[:2])


def bits(value):
    return "w" + value.encode().hex() if isinstance(value, str) else struct.pack(">d", value).hex()


def file_of(language, folder):
    """Where to export the model to, in an empty folder."""
    os.makedirs(os.path.join(folder, "model"), exist_ok=True)
    return os.path.join(folder, NAMES[language])


def compiled(language, folder):
    """Compiles the file in the folder, and returns the command that scores documents."""
    path = file_of(language, folder)
    with open(path, encoding="ascii") as file:
        text = file.read()
    has_words = any(head in text for head in ("double category(", "func Category(", "def category("))

    def write(name, text, category):
        with open(os.path.join(folder, name), "w", encoding="ascii") as out:
            out.write(text.replace("CATEGORY", category if has_words else "number"))

    def run(*command):
        subprocess.run(command, cwd=folder, check=True)

    if language == "java":
        write("Main.java", JAVA, "Model.category")
        run("javac", "-Xlint:all", "-Werror", "Model.java", "Main.java")
        return ["java", "-cp", ".", "Main"]
    if language == "go":
        write("go.mod", "module test\n\ngo 1.18\n", "")
        write("main.go", GO, "model.Category")
        run("go", "build", "-o", "scores", ".")
        return ["./scores"]
    write("main.py", PYTHON, "")
    return [sys.executable, "-I", "-S", "main.py"]


def scores(command, folder, rows):
    """The scores of rows of numbers and words. Raises RuntimeError with the program's messages if it
    fails."""
    lines = "".join(" ".join(map(bits, row)) + "\n" for row in rows)
    done = subprocess.run(command, cwd=folder, input=lines, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [struct.unpack(">d", bytes.fromhex(line.rjust(16, "0")))[0] for line in done.stdout.split()]
