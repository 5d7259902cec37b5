package io.leasehold.redis.wire;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A script: a {@code .lua} file, whose header is its contract. The server knows it by its digest. A script is read when it is first
 * sent, or by {@link #readAll}: to read all of them takes as long as the rest of a start of the command line. Any thread may use it.
 */
public final class LuaScript {

    /** A line that includes the file {@code shared/NAME.lua}. */
    private static final Pattern SHARED = Pattern.compile("(?m)^-- shared: (\\w+)\n");

    /** Proposes a ballot. */
    public static final LuaScript ACQUIRE = new LuaScript("acquire.lua");

    /** The common case of {@link #ACQUIRE}. */
    public static final LuaScript ACQUIRE_FREE = new LuaScript("acquire_free.lua");

    /** The common case of {@link #ACQUIRE} for several callers, each of which succeeds or fails on its own. */
    public static final LuaScript ACQUIRE_MANY = new LuaScript("acquire_many.lua");

    /** Proposes a ballot for several locks at once. */
    public static final LuaScript ACQUIRE_ALL = new LuaScript("acquire_all.lua");
    /** Ends the hold of an owner token. */
    public static final LuaScript RELEASE = new LuaScript("release.lua");
    /** The common case of {@link #RELEASE}. */
    public static final LuaScript RELEASE_HELD = new LuaScript("release_held.lua");
    /** The common case of {@link #RELEASE} for several callers, each of which succeeds or fails on its own. */
    public static final LuaScript RELEASE_MANY = new LuaScript("release_many.lua");

    /** Puts one waiter before all others, on behalf of the holder. */
    public static final LuaScript NAME_SUCCESSOR = new LuaScript("name_successor.lua");

    /** Ends the hold of an owner token, and keeps the lock for a ticket. */
    public static final LuaScript EXPORT = new LuaScript("export.lua");
    /** Continues an exported lease. */
    public static final LuaScript RESUME = new LuaScript("resume.lua");

    /** Ends a hold with the lock key alone, while the slot moves to another master. */
    public static final LuaScript RELEASE_KEY = new LuaScript("release_key.lua");
    /** Raises a fence with its key alone, while the slot moves to another master. */
    public static final LuaScript RAISE_FENCE = new LuaScript("raise_fence.lua");
    /** Extends locks by one ttl. */
    public static final LuaScript RENEW = new LuaScript("renew.lua");
    /** Reads the holder of a lock. */
    public static final LuaScript INSPECT = new LuaScript("inspect.lua");
    /** Reads the waiters of a lock. */
    public static final LuaScript WAITERS = new LuaScript("waiters.lua");
    /** Removes a lock on behalf of an operator. */
    public static final LuaScript FORCE_RELEASE = new LuaScript("force_release.lua");
    /** Proposes a ballot to a member of a set. */
    public static final LuaScript MEMBER_ACQUIRE = new LuaScript("member_acquire.lua");
    /** The common case of {@link #MEMBER_ACQUIRE} for one caller or several, each of which succeeds or fails on its own. */
    public static final LuaScript MEMBER_ACQUIRE_MANY = new LuaScript("member_acquire_many.lua");
    /** Ends the hold of an owner token at a member of a set. */
    public static final LuaScript MEMBER_RELEASE = new LuaScript("member_release.lua");
    /** The common case of {@link #MEMBER_RELEASE} for one caller or several, each of which succeeds or fails on its own. */
    public static final LuaScript MEMBER_RELEASE_MANY = new LuaScript("member_release_many.lua");
    /** Continues an exported lease at a member of a set. */
    public static final LuaScript MEMBER_RESUME = new LuaScript("member_resume.lua");
    /** Proposes a ballot for a reader to a member of a set. */
    public static final LuaScript MEMBER_READ_ACQUIRE = new LuaScript("member_read_acquire.lua");
    /** Ends the hold of a reader at a member of a set. */
    public static final LuaScript MEMBER_READ_RELEASE = new LuaScript("member_read_release.lua");
    /** Makes a reader of a writer at a member of a set. */
    public static final LuaScript MEMBER_READ_DOWNGRADE = new LuaScript("member_read_downgrade.lua");
    /** Tells a member of a set the time since when it has kept its data. */
    public static final LuaScript MEMBER_BIRTH = new LuaScript("member_birth.lua");
    /** Acquires a lock without a fence and without a queue, or finds that an earlier request has acquired it. */
    public static final LuaScript PLAIN_ACQUIRE = new LuaScript("plain_acquire.lua");
    /** Deletes a key if it has the given value. */
    public static final LuaScript PLAIN_RELEASE = new LuaScript("plain_release.lua");

    /** Proposes a ballot for a reader. */
    public static final LuaScript READ_ACQUIRE = new LuaScript("read_acquire.lua");
    /** Ends the hold of a reader. */
    public static final LuaScript READ_RELEASE = new LuaScript("read_release.lua");
    /** Ends a reader with the key of the readers alone, while the slot moves to another master. */
    public static final LuaScript READ_RELEASE_KEY = new LuaScript("read_release_key.lua");
    /** Extends readers by one ttl. */
    public static final LuaScript READ_RENEW = new LuaScript("read_renew.lua");
    /** Extends a reader with the key of the readers alone, while the slot moves to another master. */
    public static final LuaScript READ_RENEW_KEY = new LuaScript("read_renew_key.lua");
    /** Makes a reader of a writer. */
    public static final LuaScript READ_DOWNGRADE = new LuaScript("read_downgrade.lua");
    /** Lists the readers of a lock. */
    public static final LuaScript READ_INSPECT = new LuaScript("read_inspect.lua");
    /** Removes readers on behalf of an operator. */
    public static final LuaScript READ_FORCE_RELEASE = new LuaScript("read_force_release.lua");

    /** Proposes a ballot for a permit. */
    public static final LuaScript PERMITS_ACQUIRE = new LuaScript("permits_acquire.lua");
    /** Ends the permit of an owner token. */
    public static final LuaScript PERMITS_RELEASE = new LuaScript("permits_release.lua");
    /** Ends a permit with the record alone, while the slot moves to another master. */
    public static final LuaScript PERMITS_RELEASE_KEY = new LuaScript("permits_release_key.lua");
    /** Extends permits by one ttl. */
    public static final LuaScript PERMITS_RENEW = new LuaScript("permits_renew.lua");
    /** Reads the permits of a name. */
    public static final LuaScript PERMITS_INSPECT = new LuaScript("permits_inspect.lua");
    /** Changes the number of permits on behalf of an operator. */
    public static final LuaScript PERMITS_CHANGE = new LuaScript("permits_change.lua");
    /** Frees a slot on behalf of an operator. */
    public static final LuaScript PERMITS_FORCE_RELEASE = new LuaScript("permits_force_release.lua");

    private static final List<LuaScript> ALL = List.of(
            ACQUIRE,
            ACQUIRE_FREE,
            ACQUIRE_MANY,
            ACQUIRE_ALL,
            RELEASE,
            RELEASE_HELD,
            RELEASE_MANY,
            NAME_SUCCESSOR,
            EXPORT,
            RESUME,
            RELEASE_KEY,
            RAISE_FENCE,
            RENEW,
            INSPECT,
            WAITERS,
            FORCE_RELEASE,
            MEMBER_ACQUIRE,
            MEMBER_ACQUIRE_MANY,
            MEMBER_RELEASE,
            MEMBER_RELEASE_MANY,
            MEMBER_RESUME,
            MEMBER_READ_ACQUIRE,
            MEMBER_READ_RELEASE,
            MEMBER_READ_DOWNGRADE,
            MEMBER_BIRTH,
            PLAIN_ACQUIRE,
            PLAIN_RELEASE,
            READ_ACQUIRE,
            READ_RELEASE,
            READ_RELEASE_KEY,
            READ_RENEW,
            READ_RENEW_KEY,
            READ_DOWNGRADE,
            READ_INSPECT,
            READ_FORCE_RELEASE,
            PERMITS_ACQUIRE,
            PERMITS_RELEASE,
            PERMITS_RELEASE_KEY,
            PERMITS_RENEW,
            PERMITS_INSPECT,
            PERMITS_CHANGE,
            PERMITS_FORCE_RELEASE);

    private final String file;
    private volatile @Nullable Content content;

    private LuaScript(String file) {
        this.file = file;
    }

    private record Content(String text, String sha1) {}

    private Content content() {
        Content known = content;
        if (known == null) {
            // Two threads may read the same.
            String text = load(file);
            known = new Content(text, sha1(text));
            content = known;
        }
        return known;
    }

    /** Loads a script and inserts the shared parts: the server needs the whole text. */
    private static String load(String file) {
        return SHARED.matcher(read(file))
                .replaceAll(line -> Matcher.quoteReplacement(
                        line.group() + read("shared/" + line.group(1) + ".lua") + "-- end shared\n"));
    }

    private static String read(String file) {
        try (InputStream in = LuaScript.class.getResourceAsStream(file)) {
            if (in == null) {
                throw new IllegalStateException("script " + file + " is missing from the artefact leasehold-redis");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("script " + file + " cannot be read", e);
        }
    }

    /** Reads every script now, so that no thread that must not block reads one later. */
    public static void readAll() {
        ALL.forEach(LuaScript::content);
    }

    /** Every script. */
    static List<LuaScript> all() {
        return ALL;
    }

    /** The script with this digest, or null if it is not a script of Leasehold. */
    static @Nullable LuaScript withDigest(String sha1) {
        for (LuaScript script : ALL) {
            if (script.sha1().equals(sha1)) {
                return script;
            }
        }
        return null;
    }

    private static String sha1(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-1").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-1", e);
        }
    }

    /** Whether the script requests a lock that its caller does not hold yet. */
    public boolean asksForLocks() {
        return this == ACQUIRE
                || this == ACQUIRE_ALL
                || this == RESUME
                || this == MEMBER_ACQUIRE
                || this == MEMBER_READ_ACQUIRE
                || this == PLAIN_ACQUIRE
                || this == READ_ACQUIRE
                || this == PERMITS_ACQUIRE;
    }

    /** The text of the script, for {@code EVAL}. */
    public String text() {
        return content().text();
    }

    /** The digest of the script, for {@code EVALSHA}. */
    public String sha1() {
        return content().sha1();
    }

    /** The file name of the script. */
    @Override
    public String toString() {
        return file;
    }
}
