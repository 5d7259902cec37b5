package io.leasehold.jdbc;

import io.leasehold.CredentialsProvider;
import io.leasehold.jdbc.dialect.Dialect;
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
 * <p>A path may begin with {@code ~/}. Options are {@code ?synchronous=normal} (the default) or {@code full}, and
 * {@code create=false}, which refuses a missing file instead of creating it.
 */
public final class JdbcStoreProvider implements StoreProvider {

    private static final String SQLITE = "sqlite:";
    private static final String SYNCHRONOUS = "synchronous=";
    private static final String CREATE = "create=";
    private static final Pattern USER_BEFORE_HOST = Pattern.compile("(postgresql|mariadb)://[^/?]*@");

    /** Matches user or password as parameters, after the separators of drivers, or before the host. */
    private static final Pattern NAMED_LOGIN = Pattern.compile("(?i)[?&;(,:](user|password)=|^[^/]*//[^/?;]*@");

    /**
     * Matches user and password in the form of Oracle's driver; in a path of H2 the same characters have no meaning.
     */
    private static final Pattern LOGIN_BEFORE_HOST = Pattern.compile("^[^/?;]*:[^:/?;@]+/[^@]*@");

    /** Called by {@link java.util.ServiceLoader}. */
    public JdbcStoreProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("sqlite", "jdbc");
    }

    /** A file of SQLite, with the options of its URI. */
    private record LockFile(Path path, Synchronous synchronous, boolean create) {}

    @Override
    public void check(StoreUri uri, @Nullable CredentialsProvider credentials) {
        if (file(uri, credentials) == null) {
            statements(uri);
        }
    }

    @Override
    public LockStore open(StoreUri uri, LockRuntime runtime) {
        return opened(uri, null, true, runtime);
    }

    @Override
    public LockStore open(StoreUri uri, CredentialsProvider credentials, LockRuntime runtime) {
        return opened(uri, credentials, true, runtime);
    }

    @Override
    public LockStore openExisting(StoreUri uri, @Nullable CredentialsProvider credentials, LockRuntime runtime) {
        return opened(uri, credentials, false, runtime);
    }

    private static LockStore opened(
            StoreUri uri, @Nullable CredentialsProvider credentials, boolean makes, LockRuntime runtime) {
        LockFile file = file(uri, credentials);
        if (file == null) {
            return connect(uri, credentials, makes, runtime);
        }
        boolean create = makes && file.create;
        return SqliteStore.open(
                file.path, file.synchronous, FileSystems.real(), runtime, StoreSettings.RETENTION, create);
    }

    private static LockStore connect(
            StoreUri uri, @Nullable CredentialsProvider credentials, boolean makes, LockRuntime runtime) {
        Dialect dialect = statements(uri);
        return makes
                ? JdbcStores.connect(uri.text(), uri.redacted(), dialect, credentials, runtime)
                : JdbcStores.connectExisting(uri.text(), uri.redacted(), dialect, credentials, runtime);
    }

    /** The file of SQLite that the URI names, or null if it names a database with a server or of H2. */
    private static @Nullable LockFile file(StoreUri uri, @Nullable CredentialsProvider credentials) {
        String rest = uri.rest();
        if (USER_BEFORE_HOST.matcher(rest).lookingAt()) {
            // The driver does not accept it either, but reports that in a log, including the password.
            throw refused(uri, "user and password are parameters there: write …://HOST/DATABASE?user=USER&password=…");
        }
        boolean named = uri.scheme().equals("sqlite");
        boolean isFile = named || rest.startsWith(SQLITE);
        if (credentials != null) {
            refuseTwoLogins(uri, isFile);
        }
        return isFile ? sqlite(uri, named ? rest : rest.substring(SQLITE.length())) : null;
    }

    private static void refuseTwoLogins(StoreUri uri, boolean isFile) {
        if (isFile) {
            throw refused(uri, "a file has no login: remove the credentials provider");
        }
        String rest = uri.rest();
        boolean beforeHost =
                dialect(rest) == null && LOGIN_BEFORE_HOST.matcher(rest).find();
        if (beforeHost || NAMED_LOGIN.matcher(rest).find()) {
            throw refused(
                    uri, "it contains a user or password, and a credentials provider is set: use only one of them");
        }
    }

    /** The dialect of the database: a built-in one, or one on the class path. */
    private static Dialect statements(StoreUri uri) {
        String rest = uri.rest();
        SqlDialect ours = dialect(rest);
        if (ours != null) {
            return ours.statements();
        }
        String subprotocol = rest.substring(0, Math.max(0, rest.indexOf(':'))).toLowerCase(Locale.ROOT);
        for (DialectProvider provider : ServiceLoader.load(DialectProvider.class)) {
            if (provider.subprotocols().contains(subprotocol)) {
                return provider.dialect();
            }
        }
        throw refused(
                uri,
                "this version keeps locks in jdbc:postgresql:…, jdbc:mariadb:…, jdbc:mysql:…, jdbc:h2:… and"
                        + " jdbc:sqlite:PATH, and the class path has no dialect for "
                        + (subprotocol.isEmpty() ? "this" : "jdbc:" + subprotocol + ":…")
                        + "; docs/stores/own-dialect.md explains how to write one");
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

    private static LockFile sqlite(StoreUri uri, String rest) {
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
        return new LockFile(path(uri, path), synchronous, create);
    }

    private static Path path(StoreUri uri, String text) {
        if (text.isEmpty()) {
            return SqliteStore.defaultPath();
        } else if (text.startsWith("//")) {
            throw refused(uri, "it must not contain a host; write sqlite:PATH, as in sqlite:/var/lib/app/locks.db");
        } else if (text.startsWith(":")) {
            throw refused(uri, "a database in memory is not shared; write memory: for locks inside one process");
        } else if (text.isBlank()) {
            throw refused(uri, "the path is blank");
        }
        try {
            return text.startsWith("~/") ? SqliteStore.home().resolve(text.substring(2)) : Path.of(text);
        } catch (InvalidPathException e) {
            throw refused(uri, "the path is not valid on this system: " + e.getReason());
        }
    }

    private static IllegalArgumentException refused(StoreUri uri, String why) {
        return new IllegalArgumentException("store URI \"" + uri.redacted() + "\": " + why);
    }
}
