package io.leasehold.redis;

import io.leasehold.Lease;
import io.leasehold.fencing.Access;
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
 * A guard of Redis values that refuses older holders. It keeps the newest fencing token of each value in a key next to
 * it, {@code {KEY}:fencing-token}. For a key that is {@code {KEY}} itself, that is {@code {KEY}:own-fencing-token}.
 * Readers ({@link Access#READ}) keep the token of the newest writer in {@code {KEY}:fencing-writer} or
 * {@code {KEY}:own-fencing-writer}.
 *
 * <pre>{@code
 * RedisFencingGuard orders = RedisFencingGuard.running((script, keys, arguments) ->          // with Lettuce
 *     redis.eval(script, ScriptOutputType.MULTI, keys.toArray(String[]::new), arguments.toArray(String[]::new)));
 * Optional<String> order = orders.read("order:1001", lease.fencingToken());
 * orders.write("order:1001", lease.fencingToken(), changed);
 * }</pre>
 *
 * <p><b>Guarantee.</b> Check and use are one script and therefore one atomic step. Among all clients that use the value
 * through this class, a token below the largest one seen neither reads nor writes the value; readers exclude older
 * writers and not each other ({@link io.leasehold.fencing.TokenPair}). <b>Condition.</b> The keys with the tokens live as
 * long as the value: they are not evicted, and no fail-over loses them while the value survives.
 *
 * <p>The guard works with any client library: the caller runs the script on its own connection. <b>Threads.</b> As the
 * runner. The guard passes on any exception of the runner.
 */
public final class RedisFencingGuard implements FencingGuard {

    private static final String SCRIPT = script();

    private final ScriptRunner redis;
    private final Consumer<? super Admission> observer;

    /** Runs scripts on a Redis connection. */
    @FunctionalInterface
    public interface ScriptRunner {
        /**
         * Runs {@code EVAL}.
         *
         * @return the reply, an array of strings
         */
        List<?> run(String script, List<String> keys, List<String> arguments);
    }

    private RedisFencingGuard(ScriptRunner redis, Consumer<? super Admission> observer) {
        this.redis = redis;
        this.observer = observer;
    }

    /** Creates a guard of values at the Redis server where the runner runs its scripts. */
    public static RedisFencingGuard running(ScriptRunner redis) {
        return new RedisFencingGuard(Objects.requireNonNull(redis, "redis"), admission -> {});
    }

    /**
     * Creates the same guard that also reports each answer, for example to count or log rejections.
     *
     * @param newObserver called by the thread that uses the guard; must not block
     */
    @Override
    public RedisFencingGuard reportingTo(Consumer<? super Admission> newObserver) {
        return new RedisFencingGuard(redis, Objects.requireNonNull(newObserver, "newObserver"));
    }

    /**
     * Checks and registers a token without using the value. A later command on the value is not in the same atomic
     * step.
     */
    @Override
    public Admission admit(String key, long token) {
        return ask(key, token, "admit", "").admission();
    }

    @Override
    public Admission admit(String key, long token, Access access) {
        return look(key, token, access, "admit").admission();
    }

    /**
     * Reads the value under an exclusive lease; empty if the key does not exist. Reading also registers the token.
     *
     * @throws StaleTokenException if a newer holder has used the value
     */
    public Optional<String> read(String key, long token) {
        return read(key, token, Access.WRITE);
    }

    /**
     * Reads the value under a lease, whose token and kind it registers; empty if the key does not exist.
     *
     * @throws StaleTokenException if a newer holder has used the value that this lease excludes
     */
    public Optional<String> read(String key, Lease lease) {
        return read(key, lease.fencingToken(), Access.of(lease));
    }

    /**
     * Reads the value, which is empty if the key does not exist. Reading also registers the token.
     *
     * @param access the kind of the lease
     * @throws StaleTokenException if a newer writer has used the value or, for the holder of an exclusive lease, any
     *     newer holder
     */
    public Optional<String> read(String key, long token, Access access) {
        Answer answer = look(key, token, access, "read");
        answer.admission().orElseThrow();
        return answer.value();
    }

    /**
     * Replaces the value, under an exclusive lease.
     *
     * @throws StaleTokenException if a newer holder has used the value; nothing was changed
     */
    public void write(String key, long token, String value) {
        ask(key, token, "write", Objects.requireNonNull(value, "value"))
                .admission()
                .orElseThrow();
    }

    /**
     * Deletes the value, under an exclusive lease, and keeps its token.
     *
     * @throws StaleTokenException if a newer holder has used the value; nothing was changed
     */
    public void delete(String key, long token) {
        ask(key, token, "delete", "").admission().orElseThrow();
    }

    private record Answer(Admission admission, Optional<String> value) {}

    private Answer look(String key, long token, Access access, String what) {
        return Objects.requireNonNull(access, "access") == Access.WRITE
                ? ask(key, token, what, "")
                : ask(
                        key,
                        token,
                        List.of(key, beside(key, "fencing-token"), beside(key, "fencing-writer")),
                        List.of(Long.toString(token), what, "", "read"));
    }

    private Answer ask(String key, long token, String what, String value) {
        return ask(key, token, List.of(key, beside(key, "fencing-token")), List.of(Long.toString(token), what, value));
    }

    private Answer ask(String key, long token, List<String> keys, List<String> arguments) {
        FencingToken.require(token);
        Answer answer = answer(key, token, redis.run(SCRIPT, keys, arguments));
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
     * The key of a token, in the slot of the key: with the key's own hash tag, or with the whole key as the tag. A
     * key with a closing brace and no hash tag has no such sibling; a Cluster refuses it. A key that consists only of a
     * hash tag has another ending, since {@code x} and <code>{x}</code> are two keys.
     */
    private static String beside(String key, String name) {
        int tagEnd = key.indexOf('}');
        if (tagEnd < 0) {
            return "{" + key + "}:" + name;
        }
        boolean isOnlyTag = key.startsWith("{") && tagEnd == key.length() - 1;
        return key + (isOnlyTag ? ":own-" : ":") + name;
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
