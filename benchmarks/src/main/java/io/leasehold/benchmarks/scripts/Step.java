package io.leasehold.benchmarks.scripts;

import io.leasehold.redis.wire.LuaScript;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;

/**
 * A pair of scripts that acquires and releases a lock.
 *
 * @param name the name in the table
 * @param acquire the text of the script
 * @param release the text of the script
 * @param together the number of locks that one call acquires or releases
 * @param head the keys and arguments that a call of the acquire script has before those of its locks
 * @param taking the keys and arguments of one lock
 * @param freeing the keys and arguments of one lock
 */
record Step(
        String name,
        String acquire,
        String release,
        int together,
        Part head,
        BiFunction<String, String, Part> taking,
        BiFunction<String, String, Part> freeing) {

    static final Part NO_HEAD = new Part(List.of(), List.of());
    static final String OWNER = "0123456789abcdef0123456789abcdef01234567";
    static final String TTL = "30000";

    /** The keys and arguments that one lock adds to a call. */
    record Part(List<String> keys, List<String> arguments) {}

    Step(
            String name,
            String acquire,
            String release,
            int together,
            BiFunction<String, String, Part> taking,
            BiFunction<String, String, Part> freeing) {
        this(name, acquire, release, together, NO_HEAD, taking, freeing);
    }

    /** The steps from the hand-made lock to Leasehold's, one change at a time, followed by other locks. */
    static List<Step> ladder() {
        String rawAcquire = text("raw_acquire.lua");
        String rawRelease = text("raw_release.lua");
        String acquire = LuaScript.ACQUIRE.text();
        String free = LuaScript.ACQUIRE_FREE.text();
        String held = LuaScript.RELEASE_HELD.text();
        return List.of(
                new Step("raw", rawAcquire, rawRelease, 1, Step::byHand, (lock, token) -> part(1, lock, OWNER)),
                new Step(
                        "acquire.lua, release.lua",
                        acquire,
                        LuaScript.RELEASE.text(),
                        1,
                        (lock, token) -> grant(3, lock, token),
                        (lock, token) -> part(3, lock, OWNER, token)),
                new Step(
                        "acquire.lua, release_held.lua",
                        acquire,
                        held,
                        1,
                        (lock, token) -> grant(3, lock, token),
                        Step::held),
                new Step(
                        "acquire_free.lua, release_held.lua",
                        free,
                        held,
                        1,
                        (lock, token) -> grant(3, lock, token),
                        Step::held),
                new Step(
                        "32 in acquire_many.lua, 32 in release_many.lua",
                        LuaScript.ACQUIRE_MANY.text(),
                        LuaScript.RELEASE_MANY.text(),
                        32,
                        (lock, token) -> grant(3, lock, token),
                        Step::held),
                new Step(
                        "not ours: without TIME where a fence is there",
                        text("acquire_without_clock.lua"),
                        held,
                        1,
                        (lock, token) -> grant(3, lock, token),
                        Step::held),
                new Step(
                        "not ours: SET NX, SET GET, no look at the queue",
                        text("acquire_set_get.lua"),
                        held,
                        1,
                        (lock, token) -> grant(2, lock, token),
                        Step::held));
    }

    private static Part byHand(String lock, String token) {
        return part(1, lock, OWNER, TTL);
    }

    private static Part grant(int keys, String lock, String token) {
        return part(keys, lock, OWNER + ":" + token + ":host/4242/1f2e3d4c", TTL, token);
    }

    private static Part held(String lock, String token) {
        return new Part(List.of(lock, lock + ":queued"), List.of(OWNER + ":" + token + ":"));
    }

    private static Part part(int keys, String lock, String... arguments) {
        List<String> all = List.of(lock, lock + ":fence", lock + ":queued");
        return new Part(all.subList(0, keys), List.of(arguments));
    }

    /** The words of a call with these parts. */
    static List<String> call(String digest, Part head, List<Part> parts) {
        List<String> words = new ArrayList<>(List.of("EVALSHA", digest));
        words.add(Integer.toString(head.keys().size()
                + parts.stream().mapToInt(part -> part.keys().size()).sum()));
        words.addAll(head.keys());
        parts.forEach(part -> words.addAll(part.keys()));
        words.addAll(head.arguments());
        parts.forEach(part -> words.addAll(part.arguments()));
        return words;
    }

    private static String text(String file) {
        try (InputStream in = Step.class.getResourceAsStream(file)) {
            if (in == null) {
                throw new IllegalStateException(file + " is missing");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
