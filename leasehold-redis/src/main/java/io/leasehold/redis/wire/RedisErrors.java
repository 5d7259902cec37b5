package io.leasehold.redis.wire;

import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.toolkit.Failure;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Converts failures at one node to typed errors.
 *
 * <p>The kind of a failure says what is known of its effect. A server that answers with an error has not written, since
 * every script's first write decides whether it may write at all. If a request was sent and not answered, the server
 * may have executed it or may still execute it.
 */
public final class RedisErrors {

    /** The rights that Leasehold needs, to paste after {@code ACL SETUSER name}. */
    public static final String RIGHTS =
            "~lock:* &lock:wake:* +evalsha +eval +time +get +mget +set +del +exists +type +pttl"
                    + " +pexpire +zadd +zrem +zrangebyscore +zrevrange +hset +hdel +hmget +setrange +append"
                    + " +publish +pubsub|numsub +subscribe +ping +info +client|info +select +scan +config|get";

    /** The rights that permits need in addition. */
    public static final String RIGHTS_OF_PERMITS = "~permits:* +hgetall";

    /** The right that readers need in addition. */
    public static final String RIGHT_OF_READERS = "+hgetall";

    private static final String PERMIT_KEYS = "~permits:*";
    private static final String STANDARD_KEYS = "~lock:*";
    private static final Set<String> ACCESS = Set.of("NOAUTH", "WRONGPASS", "NOPERM");
    private static final Set<String> LOGIN = Set.of("NOAUTH", "WRONGPASS");
    private static final Set<String> TRANSIENT = Set.of(
            "OOM",
            "MISCONF",
            "READONLY",
            "LOADING",
            "BUSY",
            "CLUSTERDOWN",
            "MASTERDOWN",
            "NOREPLICAS",
            "TRYAGAIN",
            "MOVED",
            "ASK",
            "EXECABORT",
            "UNBLOCKED");

    /** An error without its own code; its other form is "… clients + cluster connections reached". */
    private static final String FULL = "ERR max number of clients";

    private static final String ARGUMENTS = ", with args beginning with";

    /**
     * Redis 6.2 wraps the error of a command in a script, and wraps it again if the script does not catch it. Later
     * versions pass it on.
     */
    private static final Pattern IN_SCRIPT =
            Pattern.compile("^(?:ERR Error running script .*)?@user_script: ?\\d+: -?(.*)");

    private static final Logger LOG = LoggerFactory.getLogger(RedisErrors.class);

    private final String node;
    private final String rights;
    private final KeyLayout keys;
    private final boolean withProvider;
    private final Set<String> told = ConcurrentHashMap.newKeySet();

    /**
     * Creates the errors of one node with the key layout {@code lock:{*}}.
     *
     * @param node the name of the node, for messages
     */
    public RedisErrors(String node) {
        this(node, RIGHTS, KeyLayout.standard());
    }

    /**
     * Creates the errors of one node.
     *
     * @param node the name of the node, for messages
     * @param rights the rights that Leasehold needs, to paste after {@code ACL SETUSER name}
     * @param keys the key layout of the locks
     */
    public RedisErrors(String node, String rights, KeyLayout keys) {
        this(node, rights, keys, false);
    }

    private RedisErrors(String node, String rights, KeyLayout keys, boolean withProvider) {
        this.node = node;
        this.rights = rights;
        this.keys = keys;
        this.withProvider = withProvider;
    }

    /**
     * The same errors for credentials of a provider. Leasehold retries a refused login, since the provider and the
     * server do not change credentials at the same moment.
     */
    public RedisErrors withProvider() {
        return new RedisErrors(node, rights, keys, true);
    }

    /** The errors of another node of the same deployment. */
    public RedisErrors of(String otherNode) {
        return new RedisErrors(otherNode, rights, keys, withProvider);
    }

    /** The rights that Leasehold needs at a single server for these keys. */
    public static String rights(KeyLayout keys) {
        return RIGHTS.replace(STANDARD_KEYS, keyRights(keys));
    }

    private static String keyRights(KeyLayout keys) {
        return keys.equals(KeyLayout.standard()) ? STANDARD_KEYS : keys.keyRights();
    }

    /**
     * The meaning of an exception of the driver.
     *
     * @param what the request, for example {@code acquire lock "x"}
     */
    public Failure of(Throwable thrown, String what) {
        Throwable cause = Failure.unwrapped(thrown);
        String text = String.valueOf(cause.getMessage());
        if (cause instanceof ServerRefusal) {
            return answered(text, what, cause);
        }
        if (cause instanceof NotSentException) {
            return new Failure(FailureKind.NO_EFFECT, unavailable("is not connected: cannot " + what, cause));
        }
        return new Failure(
                FailureKind.UNKNOWN,
                unavailable("did not answer the request to " + what + ": " + text + "; its outcome is unknown", cause));
    }

    /** Whether the driver sent nothing because it accepts no commands at this moment. */
    public static boolean isNotConnected(Throwable thrown) {
        return Failure.unwrapped(thrown) instanceof NotSentException notSent
                && String.valueOf(notSent.getMessage()).startsWith("Currently not connected");
    }

    /** The meaning of an error of the node that a script passes on. */
    Failure answered(String text, String what) {
        return answered(text, what, null);
    }

    private Failure answered(String words, String what, @Nullable Throwable thrown) {
        String whole = withoutArguments(words);
        Throwable cause = causeOf(words, thrown);
        String text = ofCommand(whole);
        String code = code(text);
        if (ACCESS.contains(code) || isScriptWithoutRight(text)) {
            boolean mayPass = withProvider && LOGIN.contains(code);
            return new Failure(
                    mayPass ? FailureKind.NO_EFFECT : FailureKind.PERMANENT, access(text, whole, what, cause));
        }
        if (isTransient(text)) {
            return new Failure(
                    FailureKind.NO_EFFECT, unavailable("cannot " + what + " now: " + text + advice(text), cause));
        }
        return new Failure(
                FailureKind.PERMANENT, new LockStoreException(node + " refuses to " + what + ": " + text, cause));
    }

    /** Removes the arguments of an unknown command from a server's error: they may be a password or an owner token. */
    public static String withoutArguments(String error) {
        int arguments = error.toLowerCase(Locale.ROOT).indexOf(ARGUMENTS);
        return arguments < 0 ? error : error.substring(0, arguments);
    }

    /** The cause to attach to an error with these words, or null if the cause would repeat arguments. */
    public static @Nullable Throwable causeOf(String error, @Nullable Throwable thrown) {
        return withoutArguments(error).equals(error) ? thrown : null;
    }

    /** Extracts the error of a command from the error of the script that ran it. */
    public static String ofCommand(String error) {
        Matcher inScript = IN_SCRIPT.matcher(error);
        return inScript.find() ? inScript.group(1) : error;
    }

    /** Whether a server has refused a command because it is a replica. */
    public static boolean isReadOnly(String error) {
        return code(ofCommand(error)).equals("READONLY");
    }

    private static String code(String error) {
        return error.split(" ", 2)[0].toUpperCase(Locale.ROOT);
    }

    private static boolean isScriptWithoutRight(String text) {
        return text.contains("ACL failure in script")
                || text.contains("The user executing the script can't")
                || text.contains("can't run this command or subcommand")
                || text.contains("No permissions");
    }

    /** Whether the refusal is temporary and the server has written nothing. */
    private static boolean isTransient(String text) {
        return TRANSIENT.contains(code(text)) || text.startsWith(FULL);
    }

    private static String advice(String text) {
        if (text.startsWith(FULL)) {
            return "; it has as many connections as it takes: raise maxclients, or look for clients that leak them";
        }
        return switch (code(text)) {
            case "OOM" -> "; its memory is full: raise maxmemory, keep maxmemory-policy noeviction";
            case "MISCONF" -> "; it cannot write its snapshot or append-only file: look at its disk";
            case "READONLY" -> "; it is a replica: connect to its primary";
            case "TRYAGAIN" ->
                "; its slot is being moved to another master (resharding), and what belongs together is at two places:"
                        + " it can be acquired again when that is done";
            case "CLUSTERDOWN" -> "; masters are missing: look at CLUSTER INFO and CLUSTER NODES";
            case "BUSY" -> "; another client's script is running for long: SCRIPT KILL ends it";
            default -> "";
        };
    }

    /** The error for a missing right or for refused credentials. */
    public StoreAccessException access(String text, String what, @Nullable Throwable cause) {
        return access(text, text, what, cause);
    }

    private StoreAccessException access(String text, String whole, String what, @Nullable Throwable cause) {
        if (withProvider && LOGIN.contains(code(text))) {
            return new StoreAccessException(
                    node + " does not accept what the credentials provider gave (" + code(text) + "); it is asked again"
                            + " for the next connection",
                    cause);
        }
        if (text.startsWith("NOAUTH")) {
            return new StoreAccessException(
                    node + " requires a password to " + what + ": put user:password@ before the host in the store URI",
                    cause);
        }
        if (text.startsWith("WRONGPASS") || text.contains("invalid password")) {
            return new StoreAccessException(
                    node + " does not accept the user and password of the store URI (WRONGPASS)", cause);
        }
        boolean ofPermits = what.contains(" permits \"") || what.contains(" permits, among them \"");
        boolean ofReaders = what.contains(" read lock \"") || what.contains(" read locks, among them \"");
        // The server does not say which key it means, and the first use of permits also reads the key of the lock.
        String keyRights = ofPermits ? keyRights(keys) + " " + PERMIT_KEYS : keyRights(keys);
        MissingRight missing = MissingRight.in(whole, keyRights, channelRights());
        String grant = missing == null
                ? ""
                : "The right to " + missing.what() + " is missing; an administrator can grant it: ACL SETUSER <user> "
                        + missing.rule() + ". ";
        return new StoreAccessException(
                node + " denies permission to " + what + ": " + text + ". " + grant
                        + "All that Leasehold needs: ACL SETUSER <user> " + rights
                        + (ofPermits ? " " + RIGHTS_OF_PERMITS : ofReaders ? " " + RIGHT_OF_READERS : ""),
                cause);
    }

    private String channelRights() {
        return Arrays.stream(rights.split(" "))
                .filter(right -> right.startsWith("&"))
                .findFirst()
                .orElse("&*");
    }

    /**
     * Warns once per right of a missing right that does not fail a request but disables a part of its function. Ignores
     * other errors.
     *
     * @param what the disabled part
     */
    public void warnOnce(String error, String what) {
        if (answered(error, what).error() instanceof StoreAccessException lacking) {
            MissingRight missing = MissingRight.in(error, keyRights(keys), channelRights());
            if (told.add(missing == null ? what : missing.rule())) {
                LOG.warn("{}", lacking.getMessage());
            }
        }
    }

    /** The failure of a request without an answer within its time limit. */
    public Failure timeout(String what, long timeoutNanos) {
        return new Failure(
                FailureKind.UNKNOWN,
                unavailable(
                        "did not answer the request to " + what + " within " + millis(timeoutNanos)
                                + " ms; its outcome is unknown",
                        null));
    }

    /** The failure of a request that was not sent because too many requests are unanswered. */
    public Failure overloaded(String what, int unanswered) {
        return new Failure(
                FailureKind.NO_EFFECT,
                unavailable(
                        "has not answered " + unanswered + " requests yet: cannot " + what
                                + " now. The server is frozen"
                                + " or overloaded, or too many locks are requested at once",
                        null));
    }

    /** The failure of a request that was not sent because no connection is available. */
    public Failure notConnected(String what, @Nullable LockStoreException why) {
        if (why instanceof StoreAccessException) {
            return new Failure(withProvider ? FailureKind.NO_EFFECT : FailureKind.PERMANENT, why);
        }
        String reason = why == null ? "" : " (" + why.getMessage() + ")";
        return new Failure(
                FailureKind.NO_EFFECT,
                new StoreUnavailableException("not connected to " + node + ": cannot " + what + reason, why));
    }

    /** The failure for an answer that the script cannot give: a proxy or another program is in between. */
    public Failure malformed(String what, RuntimeException cause) {
        return new Failure(
                FailureKind.UNKNOWN,
                new StoreUnavailableException(
                        node + " gave an answer to " + what + " that cannot be read: " + cause, cause));
    }

    /** The failure for a side key with a foreign value. */
    public Failure broken(String what, String key, String type) {
        return new Failure(
                FailureKind.PERMANENT,
                new LockStoreException(
                        node + " cannot " + what + ": the key \"" + key + "\" holds a " + type
                                + " that Leasehold did not write. Another program uses this key: rename its key or"
                                + " this lock",
                        null));
    }

    /** The failure for a queue of clients with another version of the wire format. */
    Failure otherVersion(String what, String key, String theirs, String ours) {
        return new Failure(
                FailureKind.PERMANENT,
                new LockStoreException(
                        node + " cannot " + what + ": clients of wire format " + theirs + " wait for it (key \"" + key
                                + "\"), and this one speaks wire format " + ours
                                + ". They exclude each other, but cannot"
                                + " share a queue: use the same version of Leasehold in all clients of this lock; the"
                                + " queue is deleted when its last waiter leaves",
                        null));
    }

    /** The error for a forced release of a key that is not a lock. */
    LockStoreException notALock(LockName name, String type) {
        return new LockStoreException(
                node + ": the keys of lock \"" + name + "\" hold a " + type + " that no lock client wrote; nothing was"
                        + " touched. If it may go, delete the key \"" + keys.lock(name) + "\" by hand",
                null);
    }

    /** The error for an unreachable store. */
    public StoreUnavailableException unavailable(String happened, @Nullable Throwable cause) {
        return new StoreUnavailableException(node + " " + happened, cause);
    }

    /**
     * Whether the server has refused the command for this user, in any wording, so that a retry is useless. A temporary
     * refusal or a refusal before the login does not count.
     */
    public static boolean isRefused(Throwable thrown) {
        Throwable cause = Failure.unwrapped(thrown);
        String text = String.valueOf(cause.getMessage());
        String code = code(text);
        return cause instanceof ServerRefusal
                && !isTransient(text)
                && (code.equals("NOPERM") || !ACCESS.contains(code));
    }

    /** The cause that gives the reason: the first known error or server answer, else the deepest cause. */
    public static Throwable reasonOf(Throwable thrown) {
        Throwable reason = thrown;
        for (Throwable t = thrown; t != null; t = t.getCause()) {
            if (t instanceof LockStoreException || t instanceof ServerRefusal) {
                return t;
            }
            reason = t;
        }
        return reason;
    }

    /** The reason why no connection could be made. */
    public LockStoreException unreachable(Throwable thrown) {
        Throwable reason = reasonOf(thrown);
        if (reason instanceof LockStoreException known) {
            // No credentials are available for the login.
            return known;
        }
        if (reason instanceof ServerRefusal) {
            return of(reason, "log in").error();
        }
        String said = reason.getMessage() == null ? reason.getClass().getSimpleName() : reason.getMessage();
        return unavailable(
                "cannot be reached: " + said.lines().findFirst().orElse("") + ". Is a Redis server running there, and"
                        + " does the store URI name its host and port?",
                Failure.unwrapped(thrown));
    }

    private static long millis(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(nanos);
    }
}
