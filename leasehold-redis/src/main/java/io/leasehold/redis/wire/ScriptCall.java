package io.leasehold.redis.wire;

import org.jspecify.annotations.Nullable;

/** A call of a script, and its common case: the scripts that do that, for one caller or several at once, and what they need for it. */
public final class ScriptCall {

    private final LuaScript script;
    private final String[] keys;
    private final String[] arguments;
    private final @Nullable CommonCase common;

    /** A call that leaves alone and whole. The arrays are not copied: they belong to it from now on. */
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
     * The script for the common case of a call. Where it is another, the answer is 0, and the whole call decides.
     *
     * @param one the script for one caller
     * @param several the script for several, each with these keys and arguments of its own
     * @param keys of one caller
     * @param arguments of one caller
     */
    @SuppressWarnings("ArrayRecordComponent") // made for each request, compared by none
    public record CommonCase(LuaScript one, LuaScript several, String[] keys, String[] arguments) {}

    /** The same call, whose common case may be tried first. */
    public ScriptCall orCommonly(CommonCase its) {
        return new ScriptCall(script, keys, arguments, its);
    }

    /** The script. */
    public LuaScript script() {
        return script;
    }

    /** Its keys; the first tells where it is served. */
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
