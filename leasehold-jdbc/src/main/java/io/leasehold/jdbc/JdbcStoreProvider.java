package io.leasehold.jdbc;

import io.leasehold.CredentialsProvider;
import io.leasehold.jdbc.dialect.DialectProvider;
import io.leasehold.jdbc.sqlite.FileSystems;
import io.leasehold.jdbc.sqlite.Synchronous;
import io.leasehold.jdbc.store.StoreSettings;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Opens {@code sqlite:} (the default file), {@code sqlite:PATH}, {@code jdbc:sqlite:PATH}, {@code jdbc:postgresql:…},
 * {@code jdbc:mariadb:…}, {@code jdbc:mysql:…} and {@code jdbc:h2:…}.
 *
 * <p>A path may begin with {@code ~/}. Options are {@code ?synchronous=normal} (the default) or {@code full}, and {@code create=false},
 * which refuses a file that is not there instead of making it.
 */
public final class JdbcStoreProvider implements StoreProvider {

    private static final String SQLITE = "sqlite:";
    private static final String SYNCHRONOUS = "synchronous=";
    private static final String CREATE = "create=";
    private static final Pattern USER_BEFORE_HOST = Pattern.compile("(postgresql|mariadb)://[^/?]*@");

    /** User or password as parameters, after whatever drivers put before them, or before the host. */
    private static final Pattern NAMED_LOGIN = Pattern.compile("(?i)[?&;(,:](user|password)=|^[^/]*//[^/?;]*@");

    /** User and password as Oracle's driver takes them; in a path of H2 the same characters mean nothing. */
    private static final Pattern LOGIN_BEFORE_HOST = Pattern.compile("^[^/?;]*:[^:/?;@]+/[^@]*@");

    /** For {@link java.util.ServiceLoader}. */
    public JdbcStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("sqlite", "jdbc");
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        String rest = checked(uri);
        if (uri.scheme().equals("sqlite")) {
            return sqlite(uri, rest, runtime);
        } else if (rest.startsWith(SQLITE)) {
            return sqlite(uri, rest.substring(SQLITE.length()), runtime);
        }
        return connect(uri, null, runtime);
    }

    @Override
    public LockStore open(StoreUri uri, CredentialsProvider credentials, LockRuntime runtime) {
        String rest = checked(uri);
        if (uri.scheme().equals("sqlite") || rest.startsWith(SQLITE)) {
            throw refused(uri, "a file has no log-in: leave the credentials provider out");
        }
        boolean beforeHost =
                dialect(rest) == null && LOGIN_BEFORE_HOST.matcher(rest).find();
        if (beforeHost || NAMED_LOGIN.matcher(rest).find()) {
            throw refused(uri, "it names user or password, and a credentials provider is set: decide");
        }
        return connect(uri, credentials, runtime);
    }

    private static String checked(StoreUri uri) {
        String rest = uri.rest();
        if (USER_BEFORE_HOST.matcher(rest).lookingAt()) {
            // The driver does not take it either, but says so in a log, password included.
            throw refused(uri, "user and password are parameters there: write …://HOST/DATABASE?user=USER&password=…");
        }
        return rest;
    }

    private static LockStore connect(StoreUri uri, @Nullable CredentialsProvider credentials, LockRuntime runtime) {
        String rest = uri.rest();
        SqlDialect ours = dialect(rest);
        if (ours != null) {
            return JdbcStores.connect(uri.text(), uri.redacted(), ours.statements(), credentials, runtime);
        }
        String subprotocol = rest.substring(0, Math.max(0, rest.indexOf(':'))).toLowerCase(Locale.ROOT);
        for (DialectProvider provider : ServiceLoader.load(DialectProvider.class)) {
            if (provider.subprotocols().contains(subprotocol)) {
                return JdbcStores.connect(uri.text(), uri.redacted(), provider.dialect(), credentials, runtime);
            }
        }
        throw refused(
                uri,
                "this version keeps locks in jdbc:postgresql:…, jdbc:mariadb:…, jdbc:mysql:…, jdbc:h2:… and"
                        + " jdbc:sqlite:PATH, and on the class path is no dialect for "
                        + (subprotocol.isEmpty() ? "this" : "jdbc:" + subprotocol + ":…")
                        + "; docs/stores/own-dialect.md tells how to write one");
    }

    private static @Nullable SqlDialect dialect(String rest) {
        if (rest.startsWith("h2:")) {
            return SqlDialect.H2;
        } else if (rest.startsWith("postgresql:")) {
            return SqlDialect.POSTGRESQL;
        } else if (rest.startsWith("mariadb:")) {
            return SqlDialect.MARIADB;
        }
        return rest.startsWith("mysql:") ? SqlDialect.MYSQL : null;
    }

    private static LockStore sqlite(StoreUri uri, String rest, LockRuntime runtime) {
        int options = rest.indexOf('?');
        String path = options < 0 ? rest : rest.substring(0, options);
        Synchronous synchronous = Synchronous.NORMAL;
        boolean create = true;
        for (String option :
                options < 0 ? new String[0] : rest.substring(options + 1).split("&", -1)) {
            switch (option) {
                case SYNCHRONOUS + "normal" -> synchronous = Synchronous.NORMAL;
                case SYNCHRONOUS + "full" -> synchronous = Synchronous.FULL;
                case CREATE + "true" -> create = true;
                case CREATE + "false" -> create = false;
                default ->
                    throw refused(
                            uri,
                            "unknown option \"" + option
                                    + "\"; there is synchronous=normal, synchronous=full and create=false");
            }
        }
        return SqliteStore.open(
                path(uri, path), synchronous, FileSystems.real(), runtime, StoreSettings.RETENTION, create);
    }

    private static Path path(StoreUri uri, String text) {
        if (text.isEmpty()) {
            return SqliteStore.defaultPath();
        } else if (text.startsWith("//")) {
            throw refused(uri, "a host has no place in it; write sqlite:PATH, as in sqlite:/var/lib/app/locks.db");
        } else if (text.startsWith(":")) {
            throw refused(uri, "a database in memory is not shared; write memory: for locks inside one process");
        } else if (text.isBlank()) {
            throw refused(uri, "the path is blank");
        }
        try {
            return text.startsWith("~/") ? SqliteStore.home().resolve(text.substring(2)) : Path.of(text);
        } catch (InvalidPathException e) {
            throw refused(uri, "the path is none on this system: " + e.getReason());
        }
    }

    private static IllegalArgumentException refused(StoreUri uri, String why) {
        return new IllegalArgumentException("store URI \"" + uri.redacted() + "\": " + why);
    }
}
