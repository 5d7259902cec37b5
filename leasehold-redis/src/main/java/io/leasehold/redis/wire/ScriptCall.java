package io.leasehold.redis.wire;

import org.jspecify.annotations.Nullable;

/**
 * A call of a script. It may have a common case, which a shorter script serves for one caller or for several at once.
 */
public final class ScriptCall {

    private final LuaScript script;
    private final String first;
    /** The keys, or null if they are all keys of a lock. */
    private final String @Nullable [] keys;

    private final String[] arguments;
    private final @Nullable CommonCase common;

    /** Creates a call that is sent alone and whole. The call takes over the arrays without copying them. */
    public ScriptCall(LuaScript script, String[] keys, String[] arguments) {
        this(script, keys[0], keys, arguments, null);
    }

    private ScriptCall(
            LuaScript script, String first, String @Nullable [] keys, String[] arguments, @Nullable CommonCase common) {
        this.script = script;
        this.first = first;
        this.keys = keys;
        this.arguments = arguments;
        this.common = common;
    }

    /**
     * Creates a call with all keys of a lock. {@link #keys} makes them, since the common case needs only a few.
     */
    public static ScriptCall ofLock(LuaScript script, String lock, String[] arguments) {
        return new ScriptCall(script, lock, null, arguments, null);
    }

    /**
     * The scripts for the common case of a call. In any other case the answer is 0, and the whole call decides.
     *
     * @param one the script for one caller
     * @param several the script for several callers, each with its own keys and arguments
     * @param keys the keys of one caller
     * @param arguments the arguments of one caller
     */
    @SuppressWarnings("ArrayRecordComponent") // made for each request, compared by none
    public record CommonCase(LuaScript one, LuaScript several, String[] keys, String[] arguments) {}

    /** The same call, which may try its common case first. */
    public ScriptCall orCommonly(CommonCase its) {
        return new ScriptCall(script, first, keys, arguments, its);
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

    /** Its arguments. */
    public String[] arguments() {
        return arguments;
    }

    /** Its common case, or null if it has none. */
    public @Nullable CommonCase common() {
        return common;
    }
}
