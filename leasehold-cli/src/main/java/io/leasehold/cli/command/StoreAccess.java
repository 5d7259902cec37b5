package io.leasehold.cli.command;

import io.leasehold.Credentials;
import io.leasehold.CredentialsProvider;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Terminal;
import io.leasehold.jedis.JedisStore;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Connects to the store that the command line names, and hides its secrets in later output. */
final class StoreAccess {

    /** A file with the password of the store, read at each connection. */
    static final String PASSWORD_FILE = "LEASEHOLD_PASSWORD_FILE";

    /** The user of that password. */
    static final String USER = "LEASEHOLD_USER";

    private static final Pattern OVER_JEDIS = Pattern.compile("(?i)rediss?(-(replicated|sentinel))?:");
    private static final Pattern NEEDS_LETTUCE = Pattern.compile("[?&](waitReplicas|toldAtOnce)=");

    private StoreAccess() {}

    static LockClient open(Invocation invocation, StoreOption store) {
        String uri = store.uri(invocation.environment());
        invocation.terminal().hide(StoreOption.secrets(uri));
        return client(invocation, uri).connect();
    }

    /** As {@link #open}, for a command that only reads: creates nothing, and refuses a store that does not exist. */
    static LockClient openExisting(Invocation invocation, StoreOption store) {
        String uri = store.uri(invocation.environment());
        invocation.terminal().hide(StoreOption.secrets(uri));
        Leasehold.Builder client = client(invocation, uri);
        // Jedis is a custom store, and writes nothing when it opens.
        return (usesJedis(uri) ? client : client.existing()).connect();
    }

    private static boolean usesJedis(String uri) {
        return OVER_JEDIS.matcher(uri).lookingAt()
                && !NEEDS_LETTUCE.matcher(uri).find();
    }

    /**
     * A builder for this store, whose secrets are hidden already; a password in a file is hidden when it is read.
     *
     * @throws IllegalArgumentException if the environment names a user without a file, or an invalid path
     */
    static Leasehold.Builder client(Invocation invocation, String uri) {
        String user = named(invocation, USER);
        String file = named(invocation, PASSWORD_FILE);
        if (file != null) {
            return at(uri, hiding(passwordFile(user, file), invocation.terminal()));
        } else if (user != null) {
            throw new IllegalArgumentException(USER + " also needs " + PASSWORD_FILE);
        }
        return at(uri, null);
    }

    /**
     * Uses Jedis where it knows the store: it starts with half of the processor time that Lettuce takes. A Cluster may have more
     * masters than Jedis connects to at a time.
     */
    private static Leasehold.Builder at(String uri, @Nullable CredentialsProvider credentials) {
        if (usesJedis(uri)) {
            JedisStore redis = JedisStore.at(uri);
            return Leasehold.builder().store((credentials == null ? redis : redis.credentials(credentials))::open);
        }
        Leasehold.Builder client = Leasehold.builder().store(uri);
        return credentials == null ? client : client.credentials(credentials);
    }

    private static @Nullable String named(Invocation invocation, String variable) {
        String value = invocation.environment().get(variable);
        return value == null || value.isEmpty() ? null : value;
    }

    private static CredentialsProvider passwordFile(@Nullable String user, String file) {
        try {
            return CredentialsProvider.passwordFile(user, Path.of(file));
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException(PASSWORD_FILE + " is not a path: " + e.getReason());
        }
    }

    private static CredentialsProvider hiding(CredentialsProvider given, Terminal terminal) {
        return () -> {
            Credentials login = given.credentials();
            terminal.hideAlso(String.valueOf(login.password()));
            return login;
        };
    }
}
