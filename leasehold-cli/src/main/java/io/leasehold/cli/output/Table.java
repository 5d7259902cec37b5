package io.leasehold.cli.output;

import java.util.ArrayList;
import java.util.List;

/** A table of text: a heading, columns as wide as their widest cell, two spaces between them. */
public final class Table {

    private final List<List<String>> rows = new ArrayList<>();
    private final int columns;

    /** A table with these headings. */
    public Table(String... headings) {
        columns = headings.length;
        rows.add(List.of(headings));
    }

    /** Adds a row; cells may hold any text. */
    public void row(String... cells) {
        if (cells.length != columns) {
            throw new IllegalArgumentException("a row of " + cells.length + " cells in a table of " + columns);
        }
        List<String> safe = new ArrayList<>(columns);
        for (String cell : cells) {
            safe.add(SafeText.line(cell));
        }
        rows.add(safe);
    }

    /** The lines, without trailing spaces. */
    public List<String> lines() {
        int[] widths = new int[columns];
        for (List<String> row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], width(row.get(i)));
            }
        }
        List<String> lines = new ArrayList<>(rows.size());
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                line.append(row.get(i));
                if (i < columns - 1) {
                    line.append(" ".repeat(widths[i] - width(row.get(i)) + 2));
                }
            }
            lines.add(line.toString().stripTrailing());
        }
        return lines;
    }

    private static int width(String text) {
        return text.codePointCount(0, text.length());
    }
}
