package io.leasehold.redis.wire;

import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A call of a script. It may have a common case, which a shorter script serves for one caller or for several at once.
 *
 * <p>The arguments of a call that {@linkplain #checking checks the life} of its server, or names it, are complete only
 * {@linkplain #on on a connection}. The arguments of an incomplete call cannot be read, so that no such call is sent.
 */
public final class ScriptCall {

    private final LuaScript script;
    private final String first;
    /** The keys, or null if they are all keys of a lock. */
    private final String @Nullable [] keys;

    private final String[] arguments;
    private final @Nullable CommonCase common;
    /** Which run id the last argument will be, or null if the arguments are complete. */
    private final @Nullable LifeCheck missing;
    /** Whether the head of the common case needs it, too. */
    private final boolean inCommonCase;
    /** The last argument that the connection has added, if any. Not in the array: most calls are served by their common case. */
    private final @Nullable String last;

    /** Creates a call that is sent alone and whole. The call takes over the arrays without copying them. */
    public ScriptCall(LuaScript script, String[] keys, String[] arguments) {
        this(script, keys[0], keys, arguments, null, null, false, null);
    }

    private ScriptCall(
            LuaScript script,
            String first,
            String @Nullable [] keys,
            String[] arguments,
            @Nullable CommonCase common,
            @Nullable LifeCheck missing,
            boolean inCommonCase,
            @Nullable String last) {
        this.script = script;
        this.first = first;
        this.keys = keys;
        this.arguments = arguments;
        this.common = common;
        this.missing = missing;
        this.inCommonCase = inCommonCase;
        this.last = last;
    }

    /**
     * The keys and arguments that a script for several callers gets once, before those of the callers.
     *
     * @param keys the keys
     * @param arguments the arguments
     */
    @SuppressWarnings("ArrayRecordComponent") // made for each request, compared by isLike
    public record Head(String[] keys, String[] arguments) {

        /** Nothing. */
        public static final Head NONE = new Head(new String[0], new String[0]);

        /** Whether a call with this head may join a script with the other. */
        public boolean isLike(Head other) {
            return Arrays.equals(keys, other.keys) && Arrays.equals(arguments, other.arguments);
        }
    }

    /**
     * Creates a call with all keys of a lock. {@link #keys} makes them, since the common case needs only a few.
     *
     * @param naming how the script, which may name its server to a waiter, knows it: with a last argument of the whole
     *     script. Without that, it reads {@code INFO}, a fifth of a hand-over.
     *     Null for a script without this argument
     * @param common the common case, if the call has one
     */
    public static ScriptCall ofLock(
            LuaScript script,
            String lock,
            String[] arguments,
            @Nullable LifeCheck naming,
            @Nullable CommonCase common) {
        return new ScriptCall(script, lock, null, arguments, common, naming, false, null);
    }

    /**
     * The scripts for the common case of a call. In any other case the answer is 0, and the whole call decides.
     *
     * @param one the script for one caller; it may be the script for several
     * @param several the script for several callers, each with its own keys and arguments
     * @param head the keys and arguments that the script for several gets once
     * @param keys the keys of one caller
     * @param arguments the arguments of one caller
     * @param decidesWhatIsHeld whether the answer that another owner token has the lock is sufficient; if not, the
     *     whole call follows
     */
    @SuppressWarnings("ArrayRecordComponent") // made for each request, compared by none
    public record CommonCase(
            LuaScript one, LuaScript several, Head head, String[] keys, String[] arguments, boolean decidesWhatIsHeld) {

        /** Creates a common case without a head, whose scripts never answer that a lock is held. */
        public CommonCase(LuaScript one, LuaScript several, String[] keys, String[] arguments) {
            this(one, several, Head.NONE, keys, arguments, false);
        }

        /** Whether one script serves one caller and several. */
        public boolean isOneScript() {
            return one == several;
        }

        /** Whether this answer for one caller of several is enough; if not, the whole call decides. */
        public boolean isDecidedBy(Object answer) {
            return Long.valueOf(1).equals(answer) || (decidesWhatIsHeld && answer instanceof List);
        }

        private CommonCase with(String life) {
            Head complete = new Head(head.keys, appended(head.arguments, life));
            return new CommonCase(one, several, complete, keys, arguments, decidesWhatIsHeld);
        }
    }

    /** The same call, which may try its common case first. */
    public ScriptCall orCommonly(CommonCase its) {
        return new ScriptCall(script, first, keys, arguments, its, missing, inCommonCase, last);
    }

    /**
     * The same call, which checks the life of its server, or names it to a waiter: with a last argument of the script,
     * and of the head of its common case.
     */
    public ScriptCall checking(LifeCheck life) {
        return new ScriptCall(script, first, keys, arguments, common, life, true, last);
    }

    /**
     * The complete call for one connection. It must be sent on this connection or not at all.
     *
     * @param runId the run id that the server reported on this very connection
     * @param direct whether it is proved that this connection leads to the server itself; asked only if it matters
     */
    public ScriptCall on(String runId, BooleanSupplier direct) {
        if (missing == null) {
            return this;
        }
        String life = missing.argument(runId, direct);
        CommonCase its = common == null || !inCommonCase ? common : common.with(life);
        return new ScriptCall(script, first, keys, arguments, its, null, false, life);
    }

    private static String[] appended(String[] arguments, String last) {
        String[] all = Arrays.copyOf(arguments, arguments.length + 1);
        all[arguments.length] = last;
        return all;
    }

    /** The script. */
    public LuaScript script() {
        return script;
    }

    /** Its first key, which determines the server. */
    public String first() {
        return first;
    }

    /** Its keys. */
    public String[] keys() {
        String[] given = keys;
        return given == null ? KeyLayout.allOf(first) : given;
    }

    /**
     * Its arguments.
     *
     * @throws IllegalStateException if they are not complete
     */
    public String[] arguments() {
        refuseIncomplete();
        return last == null ? arguments : appended(arguments, last);
    }

    /**
     * Its common case, or null if it has none.
     *
     * @throws IllegalStateException if the arguments are not complete
     */
    public @Nullable CommonCase common() {
        refuseIncomplete();
        return common;
    }

    private void refuseIncomplete() {
        if (missing != null) {
            throw new IllegalStateException(script + " is complete only on a connection");
        }
    }
}
