package io.leasehold.checks;

import java.util.ArrayList;
import java.util.List;

/**
 * The difference between two texts: removed lines with a minus, added ones with a plus, and the unchanged lines around
 * them.
 */
final class LineDiff {

    private static final int CONTEXT = 2;

    private LineDiff() {}

    /** Returns an empty list if the texts are equal. */
    static List<String> between(List<String> before, List<String> after) {
        List<String> all = merged(before, after);
        List<String> shown = new ArrayList<>();
        boolean gap = false;
        for (int i = 0; i < all.size(); i++) {
            if (nearChange(all, i)) {
                if (gap && !shown.isEmpty()) {
                    shown.add("...");
                }
                shown.add(all.get(i));
                gap = false;
            } else {
                gap = true;
            }
        }
        return shown;
    }

    private static boolean nearChange(List<String> lines, int index) {
        int to = Math.min(lines.size() - 1, index + CONTEXT);
        for (int i = Math.max(0, index - CONTEXT); i <= to; i++) {
            if (!lines.get(i).startsWith(" ")) {
                return true;
            }
        }
        return false;
    }

    private static List<String> merged(List<String> before, List<String> after) {
        int[][] common = longestCommon(before, after);
        List<String> lines = new ArrayList<>();
        int i = 0;
        int j = 0;
        while (i < before.size() || j < after.size()) {
            if (i < before.size() && j < after.size() && before.get(i).equals(after.get(j))) {
                lines.add("  " + before.get(i));
                i++;
                j++;
            } else if (j == after.size() || (i < before.size() && common[i + 1][j] >= common[i][j + 1])) {
                lines.add("- " + before.get(i++));
            } else {
                lines.add("+ " + after.get(j++));
            }
        }
        return lines;
    }

    /** For each pair of positions, the length of the longest common subsequence of the rests. */
    private static int[][] longestCommon(List<String> before, List<String> after) {
        int[][] length = new int[before.size() + 1][after.size() + 1];
        for (int i = before.size() - 1; i >= 0; i--) {
            for (int j = after.size() - 1; j >= 0; j--) {
                length[i][j] = before.get(i).equals(after.get(j))
                        ? length[i + 1][j + 1] + 1
                        : Math.max(length[i + 1][j], length[i][j + 1]);
            }
        }
        return length;
    }
}
