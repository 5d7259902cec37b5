package io.leasehold.checks.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** A block of code in a document. */
record CodeBlock(String document, int line, String language, boolean compiledOnly, List<String> lines) {

    /** A comment in the line before a block; the text after the colon is the reason why the block is not run. */
    private static final String COMPILED_ONLY = "<!-- compiled only:";

    private static final String FENCE = "```";

    /** All blocks of the documents for users, in order. */
    static List<CodeBlock> in(Path root, String language) {
        try (Stream<Path> top = Files.list(root);
                Stream<Path> docs = Files.walk(root.resolve("docs"))) {
            return Stream.concat(top, docs)
                    .filter(file -> file.toString().endsWith(".md"))
                    .sorted()
                    .flatMap(file -> read(root.relativize(file).toString(), file).stream())
                    .filter(block -> block.language.equals(language))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<CodeBlock> read(String document, Path file) {
        List<CodeBlock> blocks = new ArrayList<>();
        List<String> lines = readLines(file);
        for (int i = 0; i < lines.size(); i++) {
            if (!lines.get(i).startsWith(FENCE)) {
                continue;
            }
            String language = lines.get(i).substring(FENCE.length()).strip();
            int end = i + 1;
            while (!lines.get(end).startsWith(FENCE)) {
                end++;
            }
            boolean compiledOnly = i > 0 && lines.get(i - 1).startsWith(COMPILED_ONLY);
            blocks.add(new CodeBlock(document, i + 1, language, compiledOnly, lines.subList(i + 1, end)));
            i = end;
        }
        return blocks;
    }

    private static List<String> readLines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String place() {
        return document + ":" + line;
    }

    String text() {
        return String.join("\n", lines);
    }
}
