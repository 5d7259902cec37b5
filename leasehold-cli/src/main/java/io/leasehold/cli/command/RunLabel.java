package io.leasehold.cli.command;

import org.jspecify.annotations.Nullable;

/**
 * The label of a {@code run} in its holder id, {@code run.USER.COMMAND}: the user and the command. It contains only the
 * file name of the command, since arguments may contain secrets, and everyone who can see the lock can see the label.
 *
 * @param user the user, in letters, digits, {@code _} and {@code -}
 * @param command the name of the command, in the same characters and dots
 */
record RunLabel(String user, String command) {

    private static final String PREFIX = "run.";

    /** The longest label that a client takes. */
    private static final int LONGEST = 64;

    private static final int LONGEST_USER = 24;

    /** The label for this user and the first word of the command. */
    static RunLabel of(String user, String word) {
        String name = fit(user.replaceAll("[^A-Za-z0-9_-]", "_"), LONGEST_USER);
        String command = word.substring(word.lastIndexOf('/') + 1).replaceAll("[^A-Za-z0-9._-]", "_");
        return new RunLabel(name, fit(command, LONGEST - PREFIX.length() - name.length() - 1));
    }

    private static String fit(String text, int length) {
        return text.length() <= length ? text : text.substring(0, length);
    }

    /** The label in this holder id; null if the id is not that of a run. */
    static @Nullable RunLabel in(String holderId) {
        String[] parts = holderId.split("/", 4);
        if (parts.length < 4 || !parts[3].startsWith(PREFIX)) {
            return null;
        }
        String rest = parts[3].substring(PREFIX.length());
        int dot = rest.indexOf('.');
        return dot < 0 ? null : new RunLabel(rest.substring(0, dot), rest.substring(dot + 1));
    }

    /** The label. */
    String text() {
        return PREFIX + user + "." + command;
    }
}
