package io.leasehold.redis.topology;

import io.leasehold.LockStoreException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.RedisErrors;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.toolkit.Failure;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Asks Sentinels for the master and subscribes to its changes.
 *
 * <p>All Sentinels are asked at once, and the answer with the latest configuration epoch counts: a Sentinel on the
 * wrong side of a network partition continues to name the former master.
 *
 * <p>Each question opens a new connection to each Sentinel, and most questions arise just when the Sentinels must
 * elect. Therefore unanswered requests share a question. Only one question runs at a time, followed by a pause, which
 * grows while reasons to ask continue. A switch that a Sentinel reports ends the pause. State is guarded by {@code
 * this}; listeners are called outside of it.
 */
final class Sentinels implements Naming {

    /** The time for the other Sentinels after one has answered. */
    private static final long GRACE_NANOS = 300_000_000L;

    private static final long ANSWER_NANOS = 2_000_000_000L;
    private static final String SWITCHED = "+switch-master";

    /** The pause after the first question, as a number of failed tries to connect: 40 to 80 ms. */
    private static final int FIRST_PAUSE = 3;

    private final Deployment where;
    private final Driver driver;
    private final LockRuntime runtime;
    private final Consumer<RedisUri> onNamed;
    private final List<Subscriptions> watches;
    private final Poll.Rules<NamedMaster> rules;
    private boolean asking;
    private boolean askAgain;
    /** Whether a Sentinel has reported a switch during the current question. */
    private boolean switched;

    private LockRuntime.@Nullable Timer pause;
    private int pauses;
    private boolean closed;

    /**
     * Creates the object for the Sentinels of a deployment.
     *
     * @param onNamed gets the master after each question that a possible change caused
     */
    Sentinels(Deployment where, Driver driver, RedisErrors errors, LockRuntime runtime, Consumer<RedisUri> onNamed) {
        this.where = where;
        this.driver = driver;
        this.runtime = runtime;
        this.onNamed = onNamed;
        this.rules = new Poll.Rules<>(
                (one, other) -> other.epoch() > one.epoch() ? other : one,
                any -> true,
                GRACE_NANOS,
                (reasons, cause) -> errors.unavailable("has no Sentinel that names its master: " + reasons, cause));
        this.watches = where.servers().stream()
                .map(sentinel -> {
                    Subscriptions watch = new Subscriptions(
                            driver,
                            Connections.Locator.fixed(sentinel),
                            SWITCHED,
                            "changes of the master",
                            new RedisErrors(
                                    "Sentinel " + sentinel.address(), SentinelErrors.RIGHTS, KeyLayout.standard()),
                            runtime,
                            message -> {
                                if (message.startsWith(where.masterName() + " ")) {
                                    askNow();
                                }
                            });
                    watch.onResubscribed(this::askNow);
                    return watch;
                })
                .toList();
    }

    @Override
    public void watch() {
        watches.forEach(watch -> watch.started(""));
    }

    @Override
    public void ask() {
        synchronized (this) {
            if (closed || asking || pause != null) {
                askAgain = true;
                return;
            }
            asking = true;
        }
        locate().whenComplete(this::asked);
    }

    /** Asks without a pause, since a Sentinel itself has reported a switch. */
    private void askNow() {
        synchronized (this) {
            if (asking) {
                switched = true;
                return;
            }
            LockRuntime.Timer waiting = pause;
            if (waiting != null) {
                waiting.cancel();
                pause = null;
            }
        }
        ask();
    }

    private void asked(@Nullable RedisUri master, @Nullable Throwable error) {
        try {
            if (master != null) {
                onNamed.accept(master);
            }
        } finally {
            // The next question must not depend on the success of this callback.
            rest();
        }
    }

    private void rest() {
        boolean atOnce;
        synchronized (this) {
            asking = false;
            atOnce = switched && !closed;
            switched = false;
            if (!atOnce && !closed) {
                pause = runtime.schedule(Retry.delayNanos(FIRST_PAUSE + pauses++, runtime), this::rested);
            }
        }
        if (atOnce) {
            ask();
        }
    }

    private void rested() {
        synchronized (this) {
            pause = null;
            if (!askAgain) {
                pauses = 0;
                return;
            }
            askAgain = false;
        }
        ask();
    }

    /** The answer of one Sentinel: the master and the epoch of its configuration. */
    private record NamedMaster(long epoch, String host, int port) {}

    @Override
    public CompletableFuture<RedisUri> locate() {
        return Poll.of(where.servers().stream().map(this::ask).toList(), rules, runtime)
                .thenApply(latest -> where.data().at(latest.host(), latest.port()));
    }

    private CompletableFuture<NamedMaster> ask(RedisUri sentinel) {
        RedisErrors own = new RedisErrors("Sentinel " + sentinel.address());
        return StepLimit.ofQuestion(
                        driver,
                        sentinel,
                        connection -> ask(sentinel, connection),
                        ANSWER_NANOS,
                        () -> own.unavailable("did not answer in time", null),
                        runtime)
                .exceptionally(error -> {
                    throw explained(sentinel, own, error);
                });
    }

    private static LockStoreException explained(RedisUri sentinel, RedisErrors errors, Throwable error) {
        Throwable reason = RedisErrors.reasonOf(error);
        if (reason instanceof ServerRefusal) {
            return SentinelErrors.of(sentinel, String.valueOf(reason.getMessage()), reason);
        }
        return reason instanceof LockStoreException known
                ? known
                : errors.unavailable("cannot be reached: " + reason.getMessage(), Failure.unwrapped(error));
    }

    private CompletableFuture<NamedMaster> ask(RedisUri sentinel, RedisConnection redis) {
        String name = where.masterName();
        CompletableFuture<List<@Nullable String>> address = redis.ask(PlainCommand.masterAddress(name));
        CompletableFuture<Map<String, String>> master = redis.ask(PlainCommand.master(name));
        return address.thenCompose(found -> {
            String host = found.size() == 2 ? found.get(0) : null;
            String port = found.size() == 2 ? found.get(1) : null;
            if (host == null || port == null) {
                return unknownMaster(sentinel, redis);
            }
            return master.thenApply(fields -> new NamedMaster(
                    Long.parseLong(fields.getOrDefault("config-epoch", "0")), host, Integer.parseInt(port)));
        });
    }

    private CompletableFuture<NamedMaster> unknownMaster(RedisUri sentinel, RedisConnection redis) {
        return redis.ask(PlainCommand.masters()).thenApply(all -> {
            throw new UnsafeStoreException(
                    "Sentinel " + sentinel.address() + " knows no master named \"" + where.masterName() + "\"; "
                            + (all.isEmpty()
                                    ? "it knows none"
                                    : "it knows "
                                            + all.stream()
                                                    .map(master -> "\"" + master.get("name") + "\"")
                                                    .sorted()
                                                    .collect(Collectors.joining(", ")))
                            + ". Name it after the hosts: redis-sentinel://HOST,…/NAME",
                    null);
        });
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
        }
        watches.forEach(Subscriptions::close);
    }
}
