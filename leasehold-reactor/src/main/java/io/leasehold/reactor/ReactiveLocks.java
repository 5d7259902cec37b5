package io.leasehold.reactor;

import io.leasehold.Acquirable;
import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.MultiLease;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * Publishers that hold a lock while they run.
 *
 * <p>Each subscription is a separate attempt; no request is sent before it. The work is subscribed on the client's
 * {@linkplain io.leasehold.Leasehold.Builder#workExecutor work executor}, where it may block. The hold is released
 * however the subscription ends:
 *
 * <ul>
 *   <li><b>Completion and error</b> are passed on once the store has answered the release, or its time limit has passed.
 *   <li><b>Cancellation</b> leaves the queue, or cancels the work and sends the release without waiting for its answer.
 *       Before that it waits for work that runs inside {@code subscribe} or {@code request}, such as a
 *       {@code Mono.fromRunnable}. Work on other threads may continue for a moment after its cancellation, while
 *       another client already holds the lock: only the fencing token protects against that.
 *   <li><b>Loss</b> cancels the work and ends the publisher with {@link io.leasehold.LeaseLostException}, even if the
 *       work has completed and only the release detects the loss. If the work had ended with an error, that is
 *       suppressed in it.
 * </ul>
 *
 * <p>If the lock stays busy for {@code maxWait}, the error is a {@link io.leasehold.LockBusyException}; other errors
 * are those of {@link Acquirable}.
 *
 * <p>The work finds its hold in the Context under the keys {@code Lease.class} and {@code MultiLease.class}: see {@link #current()}.
 */
public final class ReactiveLocks {

    private ReactiveLocks() {}

    /**
     * Holds the lock while the Mono that {@code work} returns is subscribed to.
     *
     * @param maxWait the patience, as in {@link Acquirable#holdWhile}
     */
    public static <H extends Hold, T> Mono<T> using(
            Acquirable<H> lock, Duration maxWait, Function<? super H, ? extends Mono<? extends T>> work) {
        // Neither cancels the work once it has emitted its value, nor passes the value on before the release.
        return usingMany(lock, maxWait, work).singleOrEmpty();
    }

    /**
     * Holds the lock while the publisher that {@code work} returns is subscribed to. Its values are passed on as they
     * arrive.
     *
     * @param maxWait the patience, as in {@link Acquirable#holdWhile}
     */
    public static <H extends Hold, T> Flux<T> usingMany(
            Acquirable<H> lock, Duration maxWait, Function<? super H, ? extends Publisher<? extends T>> work) {
        Objects.requireNonNull(lock, "lock");
        Objects.requireNonNull(maxWait, "maxWait");
        Objects.requireNonNull(work, "work");
        Publisher<T> locked =
                subscriber -> new LockedRun<H, T>(Operators.toCoreSubscriber(subscriber), work).begin(lock, maxWait);
        return Flux.from(locked);
    }

    /**
     * The lease of the innermost lock under which the subscription runs.
     *
     * @return fails with {@link IllegalStateException} if it runs under none
     */
    public static Mono<Lease> current() {
        return held(Lease.class);
    }

    /**
     * The lease of the innermost several locks under which the subscription runs.
     *
     * @return fails with {@link IllegalStateException} if it runs under none
     */
    public static Mono<MultiLease> currentMulti() {
        return held(MultiLease.class);
    }

    private static <H extends Hold> Mono<H> held(Class<H> kind) {
        return Mono.deferContextual(context -> context.<H>getOrEmpty(kind)
                .map(Mono::just)
                .orElseGet(() -> Mono.error(new IllegalStateException("this subscription runs under no "
                        + kind.getSimpleName() + ": subscribe to it inside the work of ReactiveLocks.using"))));
    }

    static Context with(Context context, Hold hold) {
        return context.put(hold instanceof Lease ? Lease.class : MultiLease.class, hold);
    }
}
