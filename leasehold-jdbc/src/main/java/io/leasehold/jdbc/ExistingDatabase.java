package io.leasehold.jdbc;

import java.sql.SQLException;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/** Keeps drivers from creating the database that a URL names. */
final class ExistingDatabase {

    private static final Pattern IF_EXISTS = Pattern.compile("(?i);IFEXISTS=[^;]*");
    private static final Pattern CREATE = Pattern.compile("(?i)([?&]createDatabaseIfNotExist)=[^&]*");

    /** The SQL states of PostgreSQL and H2; H2 has one for each kind of URL. */
    private static final Set<String> MISSING = Set.of("3D000", "90146", "90149");

    /** The code of MariaDB and MySQL, whose SQL state has other meanings. */
    private static final int UNKNOWN_DATABASE = 1049;

    private ExistingDatabase() {}

    /** The URL with which the driver creates nothing: by default, H2 makes a missing file or database in memory. */
    static String url(String url) {
        if (url.toLowerCase(Locale.ROOT).startsWith("jdbc:h2:")) {
            return IF_EXISTS.matcher(url).replaceAll("") + ";IFEXISTS=TRUE";
        }
        return CREATE.matcher(url).replaceAll("$1=false");
    }

    /** Whether the error says that the database does not exist. */
    static boolean isMissing(SQLException e) {
        return MISSING.contains(String.valueOf(e.getSQLState()))
                || (e.getErrorCode() == UNKNOWN_DATABASE && "42000".equals(e.getSQLState()));
    }
}
