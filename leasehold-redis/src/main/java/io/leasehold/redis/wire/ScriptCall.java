package io.leasehold.redis.wire;

import org.jspecify.annotations.Nullable;

/** A call of a script, and its part in the script that does the common case of the same for several callers at once. */
public final class ScriptCall {

    private final LuaScript script;
    private final String[] keys;
    private final String[] arguments;
    private final @Nullable ScriptCall joint;

    /** A call that leaves alone. The arrays are not copied: they belong to it from now on. */
    public ScriptCall(LuaScript script, String[] keys, String[] arguments) {
        this(script, keys, arguments, null);
    }

    private ScriptCall(LuaScript script, String[] keys, String[] arguments, @Nullable ScriptCall joint) {
        this.script = script;
        this.keys = keys;
        this.arguments = arguments;
        this.joint = joint;
    }

    /** The same call, which may also leave as this part of a joint script. */
    public ScriptCall orJointly(LuaScript together, String[] itsKeys, String[] itsArguments) {
        return new ScriptCall(script, keys, arguments, new ScriptCall(together, itsKeys, itsArguments));
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

    /** Its part in a joint script, or null if it has none. */
    public @Nullable ScriptCall joint() {
        return joint;
    }
}
