package io.leasehold.engine;

import java.util.Collection;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Suggests the scheme that was probably meant by one that no provider knows. */
final class SchemeSuggestion {

    /** More edits would make a different word. */
    private static final int MOST_EDITS = 2;

    private static final Map<String, String> OTHER_NAMES = Map.of(
            "postgres", "jdbc:postgresql",
            "postgresql", "jdbc:postgresql",
            "mariadb", "jdbc:mariadb",
            "mysql", "jdbc:mysql",
            "h2", "jdbc:h2",
            "zookeeper", "zk",
            "valkey", "redis",
            "file", "sqlite");

    private SchemeSuggestion() {}

    /** Returns the end of the message: a question, or nothing. */
    static String after(String scheme, Collection<String> known) {
        String meant = of(scheme, known);
        return meant == null ? "" : "; did you mean " + meant + ":?";
    }

    static @Nullable String of(String scheme, Collection<String> known) {
        String nearest = OTHER_NAMES.get(scheme);
        int least = nearest == null ? MOST_EDITS + 1 : 0;
        for (String one : known) {
            int edits = edits(scheme, one);
            // In a word of two letters, two edits leave nothing.
            if (edits < least && edits < one.length() - 1) {
                nearest = one;
                least = edits;
            }
        }
        return nearest;
    }

    /** Returns how many letters must be inserted, removed or replaced to turn one word into the other. */
    static int edits(String one, String other) {
        int[] above = new int[other.length() + 1];
        for (int j = 0; j <= other.length(); j++) {
            above[j] = j;
        }
        for (int i = 1; i <= one.length(); i++) {
            int[] row = new int[other.length() + 1];
            row[0] = i;
            for (int j = 1; j <= other.length(); j++) {
                int replaced = above[j - 1] + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(replaced, 1 + Math.min(row[j - 1], above[j]));
            }
            above = row;
        }
        return above[other.length()];
    }
}
