package io.leasehold.jdbc.row;

import java.util.Objects;
import java.util.regex.Pattern;

/**
 * A column of a table with the column by which its rows are found. Names go into statements as they are, so only plain
 * ones are accepted.
 *
 * @param table the table, with its schema before a dot if needed
 * @param key the column by which a row is found; unique
 * @param name the column
 */
public record Column(String table, String key, String name) {

    private static final Pattern PLAIN = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,62}");
    private static final Pattern QUALIFIED = Pattern.compile(PLAIN + "(\\." + PLAIN + "){0,2}");

    /** Refuses names that would have to be quoted. */
    public Column {
        require(QUALIFIED, "table", table);
        require(PLAIN, "key column", key);
        require(PLAIN, "column", name);
    }

    private static void require(Pattern rule, String what, String name) {
        Objects.requireNonNull(name, what);
        if (!rule.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    what + " \"" + name + "\": it goes into statements as it is, so it must be letters,"
                            + " digits and _ (a table may have its schema before a dot)");
        }
    }

    /** The row, for messages. */
    public String describe(Object keyValue) {
        return table + " " + keyValue;
    }
}
