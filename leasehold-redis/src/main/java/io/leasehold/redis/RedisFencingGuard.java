package io.leasehold.redis;

import io.leasehold.fencing.Admission;
import io.leasehold.fencing.FencingGuard;
import io.leasehold.fencing.FencingToken;
import io.leasehold.fencing.StaleTokenException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Redis values that refuse older holders: the newest fencing token of each is kept in a key beside it, {@code
 * {KEY}:fencing-token} (and {@code {KEY}:own-fencing-token} of the key that is {@code {KEY}} itself).
 *
 * <pre>{@code
 * RedisFencingGuard orders = RedisFencingGuard.running((script, keys, arguments) ->          // with Lettuce
 *     redis.eval(script, ScriptOutputType.MULTI, keys.toArray(String[]::new), arguments.toArray(String[]::new)));
 * Optional<String> order = orders.read("order:1001", lease.fencingToken());
 * orders.write("order:1001", lease.fencingToken(), changed);
 * }</pre>
 *
 * <p><b>Guarantee.</b> Check and use are one script, so one step: among all who use the value through this class, a token
 * below the largest one seen neither reads nor writes it. <b>Condition.</b> The key with the token lives as long as the value:
 * it is not evicted, and not lost by a fail-over that the value survives.
 *
 * <p>For any client library: the caller runs the script, on a connection of its own. <b>Threads.</b> As the runner. What it
 * throws is passed on.
 */
public final class RedisFencingGuard implements FencingGuard {

    private static final String SCRIPT = script();

    private final ScriptRunner redis;
    private final Consumer<? super Admission> observer;

    /** Runs scripts on a Redis connection. */
    @FunctionalInterface
    public interface ScriptRunner {
        /**
         * {@code EVAL}.
         *
         * @return the reply, an array of strings
         */
        List<?> run(String script, List<String> keys, List<String> arguments);
    }

    private RedisFencingGuard(ScriptRunner redis, Consumer<? super Admission> observer) {
        this.redis = redis;
        this.observer = observer;
    }

    /** A guard of values at the Redis where these scripts are run. */
    public static RedisFencingGuard running(ScriptRunner redis) {
        return new RedisFencingGuard(Objects.requireNonNull(redis, "redis"), admission -> {});
    }

    /**
     * The same guard, which tells of each answer: to count rejections, or to log them.
     *
     * @param newObserver called by the asking thread; must not block
     */
    @Override
    public RedisFencingGuard reportingTo(Consumer<? super Admission> newObserver) {
        return new RedisFencingGuard(redis, Objects.requireNonNull(newObserver, "newObserver"));
    }

    /** Shows a token without using the value; what is done to it afterwards in another command is not one step with this. */
    @Override
    public Admission admit(String key, long token) {
        return ask(key, token, "admit", "").admission();
    }

    /**
     * The value, or nothing if there is none. The token is registered: reading is contact.
     *
     * @throws StaleTokenException if a newer holder has been here
     */
    public Optional<String> read(String key, long token) {
        Answer answer = ask(key, token, "read", "");
        answer.admission().orElseThrow();
        return answer.value();
    }

    /**
     * Replaces the value.
     *
     * @throws StaleTokenException if a newer holder has been here; nothing was changed
     */
    public void write(String key, long token, String value) {
        ask(key, token, "write", Objects.requireNonNull(value, "value"))
                .admission()
                .orElseThrow();
    }

    /**
     * Deletes the value, and keeps its token.
     *
     * @throws StaleTokenException if a newer holder has been here; nothing was changed
     */
    public void delete(String key, long token) {
        ask(key, token, "delete", "").admission().orElseThrow();
    }

    private record Answer(Admission admission, Optional<String> value) {}

    private Answer ask(String key, long token, String what, String value) {
        FencingToken.require(token);
        List<?> reply = redis.run(SCRIPT, List.of(key, fence(key)), List.of(Long.toString(token), what, value));
        Answer answer = answer(key, token, reply);
        observer.accept(answer.admission());
        return answer;
    }

    private static Answer answer(String key, long token, List<?> reply) {
        String said = reply.isEmpty() ? "" : String.valueOf(reply.get(0));
        Optional<String> more = reply.size() < 2 ? Optional.empty() : Optional.of(String.valueOf(reply.get(1)));
        if (said.equals("admitted")) {
            return new Answer(new Admission.Admitted(key, token), more);
        } else if (said.equals("rejected") && more.isPresent()) {
            return new Answer(new Admission.Rejected(key, token, Long.parseLong(more.get())), Optional.empty());
        }
        throw new IllegalStateException("the runner of scripts answered with " + reply.size()
                + " elements that are no reply of fenced.lua: it must return the array that EVAL returns, as strings");
    }

    /**
     * In the slot of the key: by the key's own hash tag, or by one that is the whole key. A key with a closing brace and no
     * hash tag has no such sibling; a Cluster refuses it. A key that is nothing but a hash tag has another ending, since
     * {@code x} and <code>{x}</code> are two keys.
     */
    private static String fence(String key) {
        int tagEnd = key.indexOf('}');
        if (tagEnd < 0) {
            return "{" + key + "}:fencing-token";
        }
        boolean isOnlyTag = key.startsWith("{") && tagEnd == key.length() - 1;
        return key + (isOnlyTag ? ":own-fencing-token" : ":fencing-token");
    }

    private static String script() {
        try (InputStream in = RedisFencingGuard.class.getResourceAsStream("fenced.lua")) {
            if (in == null) {
                throw new IllegalStateException("script fenced.lua is missing from the artefact leasehold-redis");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("script fenced.lua cannot be read", e);
        }
    }
}
