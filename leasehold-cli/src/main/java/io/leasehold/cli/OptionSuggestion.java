package io.leasehold.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/** Suggests the option that was probably meant by one that does not exist. */
final class OptionSuggestion {

    /** More edits would make a different word. */
    private static final int MOST_EDITS = 2;

    private OptionSuggestion() {}

    /** The nearest long option of this verb, or null if none is near. */
    static @Nullable String of(String word, CommandSpec verb) {
        String typed = word.split("=", 2)[0];
        String nearest = null;
        int least = Integer.MAX_VALUE;
        for (OptionSpec option : verb.options()) {
            for (String name : option.names()) {
                int edits = name.startsWith("--") && !option.hidden() ? distance(typed, name) : Integer.MAX_VALUE;
                if (edits < least) {
                    nearest = name;
                    least = edits;
                }
            }
        }
        return nearest;
    }

    /** The edits between them; the largest number if they are different words. A beginning is the whole word. */
    private static int distance(String typed, String name) {
        if (name.startsWith(typed) && typed.length() > 3) {
            return 1;
        }
        int edits = edits(typed, name);
        // In a short word, two edits leave too little.
        return edits <= Math.min(MOST_EDITS, (name.length() - 2) / 2) ? edits : Integer.MAX_VALUE;
    }

    /** Returns how many letters must be inserted, removed, replaced or exchanged with their neighbour. */
    static int edits(String one, String other) {
        int[][] rows = new int[one.length() + 1][other.length() + 1];
        for (int i = 0; i <= one.length(); i++) {
            for (int j = 0; j <= other.length(); j++) {
                rows[i][j] = i == 0 || j == 0 ? i + j : least(rows, one, i, other, j);
            }
        }
        return rows[one.length()][other.length()];
    }

    private static int least(int[][] rows, String one, int i, String other, int j) {
        int replaced = rows[i - 1][j - 1] + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
        int edits = Math.min(replaced, 1 + Math.min(rows[i][j - 1], rows[i - 1][j]));
        boolean exchanged =
                i > 1 && j > 1 && one.charAt(i - 1) == other.charAt(j - 2) && one.charAt(i - 2) == other.charAt(j - 1);
        return exchanged ? Math.min(edits, rows[i - 2][j - 2] + 1) : edits;
    }
}
