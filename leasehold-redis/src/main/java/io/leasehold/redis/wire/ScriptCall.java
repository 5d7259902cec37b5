package io.leasehold.redis.wire;

import org.jspecify.annotations.Nullable;

/**
 * A call of a script. It may have a common case, which a shorter script serves for one caller or for several at once.
 */
public final class ScriptCall {

    private final LuaScript script;
    private final String[] keys;
    private final String[] arguments;
    private final @Nullable CommonCase common;

    /** Creates a call that is sent alone and whole. The call takes over the arrays without copying them. */
    public ScriptCall(LuaScript script, String[] keys, String[] arguments) {
        this(script, keys, arguments, null);
    }

    private ScriptCall(LuaScript script, String[] keys, String[] arguments, @Nullable CommonCase common) {
        this.script = script;
        this.keys = keys;
        this.arguments = arguments;
        this.common = common;
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
        return new ScriptCall(script, keys, arguments, its);
    }

    /** The script. */
    public LuaScript script() {
        return script;
    }

    /** Its keys; the first key determines the server. */
    public String[] keys() {
        return keys;
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
