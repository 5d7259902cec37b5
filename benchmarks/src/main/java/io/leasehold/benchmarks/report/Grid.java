package io.leasehold.benchmarks.report;

import java.util.ArrayList;
import java.util.List;

/** A table; the first column is left-aligned, the others right-aligned. */
record Grid(List<String> head, List<List<String>> rows) {

    String text() {
        List<List<String>> all = new ArrayList<>();
        all.add(head);
        all.addAll(rows);
        int[] widths = new int[head.size()];
        for (List<String> row : all) {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], row.get(i).length());
            }
        }
        StringBuilder text = new StringBuilder();
        for (List<String> row : all) {
            StringBuilder line = new StringBuilder("  ");
            for (int i = 0; i < widths.length; i++) {
                String blanks = " ".repeat(widths[i] - row.get(i).length());
                line.append(i == 0 ? row.get(i) + blanks : "  " + blanks + row.get(i));
            }
            text.append(line.toString().stripTrailing()).append('\n');
        }
        return text.toString();
    }

    String markdown() {
        StringBuilder text = new StringBuilder();
        text.append("| ").append(String.join(" | ", head)).append(" |\n|---");
        text.append("|--:".repeat(head.size() - 1)).append("|\n");
        for (List<String> row : rows) {
            text.append("| ").append(String.join(" | ", row)).append(" |\n");
        }
        return text.toString();
    }
}
