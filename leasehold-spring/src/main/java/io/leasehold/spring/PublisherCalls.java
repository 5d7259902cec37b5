package io.leasehold.spring;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LeaseLostException;
import io.leasehold.LockBusyException;
import io.leasehold.ReleaseOutcome;
import io.leasehold.spi.method.LeaseScope;
import io.micrometer.observation.Observation;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.MonoSink;
import reactor.util.context.ContextView;

/** Locked bodies that are publishers: each subscription acquires, and releases when it completes, fails or is cancelled. */
final class PublisherCalls {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private PublisherCalls() {}

    /** A body that is a {@code Mono}, whatever its method says. */
    static Object runMono(LockCall call) {
        return run(call, Mono.class);
    }

    static Object run(LockCall call, Class<?> type) {
        ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(type);
        if (adapter == null) {
            throw new IllegalArgumentException("nothing adapts " + type.getName() + " to a publisher");
        }
        Publisher<Object> locked = adapter.isMultiValue()
                ? Flux.deferContextual(
                        context -> subscription(call, adapter, context).flatMapMany(Subscription::flux))
                : Mono.deferContextual(
                        context -> subscription(call, adapter, context).flatMap(Subscription::mono));
        return adapter.fromPublisher(locked);
    }

    private static Mono<Subscription> subscription(LockCall call, ReactiveAdapter adapter, ContextView context) {
        return ReactiveTransactions.isActive().flatMap(outer -> {
            boolean shares = outer && call.outerTransaction() != OuterTransaction.FAIL;
            Mono<HeldScope> kept = shares ? ReactiveTransactions.kept(call) : Mono.empty();
            return kept.map(one -> new Subscription(call, adapter, context, true, one))
                    .switchIfEmpty(Mono.fromSupplier(() -> new Subscription(call, adapter, context, outer, null)));
        });
    }

    /**
     * One subscription. What it was granted is given back however the subscription ends, also where the grant and the cancellation
     * cross; inside a transaction of the caller, when that has completed.
     */
    private static final class Subscription {

        private final LockCall call;
        private final ReactiveAdapter adapter;
        private final @Nullable LeaseScope around;
        private final boolean outer;

        /** The hold that an earlier call in the caller's transaction has acquired, and that transaction gives back. */
        private final @Nullable HeldScope kept;

        /** To be given back by this subscription until it is the transaction's. */
        private final SubscriptionHold held;

        private volatile boolean handedOver;

        Subscription(
                LockCall call, ReactiveAdapter adapter, ContextView context, boolean outer, @Nullable HeldScope kept) {
            this.call = call;
            this.adapter = adapter;
            this.around = context.getOrDefault(LeaseScope.class, null);
            this.outer = outer;
            this.kept = kept;
            this.held = kept == null ? new SubscriptionHold() : kept.held();
        }

        Flux<Object> flux() {
            return locked(this::inside);
        }

        /** Its value comes when the lease has been given back, so that a subscriber that needs no more cancels no body. */
        Mono<Object> mono() {
            return locked(this::only).singleOrEmpty();
        }

        private Flux<Object> locked(Function<LeaseScope, Publisher<Object>> body) {
            if (kept != null) {
                handedOver = true;
                return shared(kept).flatMapMany(body);
            }
            return Flux.usingWhen(
                            attempt(),
                            attempt -> attempt instanceof Attempt.Busy<?> busy
                                    ? busy(busy)
                                    : begun(attempt.orElseThrow()).flatMapMany(body),
                            attempt -> released(),
                            (attempt, error) -> released(),
                            attempt -> cancelled())
                    .doFinally(signal -> end());
        }

        private Flux<Object> inside(LeaseScope scope) {
            Flux<Object> body = Flux.from(held.watched(Flux.defer(() -> Flux.from(body(scope)))));
            return (cancels() ? body.takeUntilOther(loss(scope)) : body)
                    .onErrorMap(error -> told(scope, error))
                    .concatWith(Mono.defer(() -> endOf(scope)))
                    .contextWrite(context -> ReactiveLocks.with(context, scope, held));
        }

        private Mono<Object> only(LeaseScope scope) {
            // Mono.from would cancel it once it has its value.
            Mono<Object> body = Mono.fromDirect(held.watched(Mono.defer(() -> Mono.from(body(scope)))));
            return (cancels() ? body.takeUntilOther(loss(scope)) : body)
                    .onErrorMap(error -> told(scope, error))
                    .flatMap(value -> endOf(scope).defaultIfEmpty(value))
                    .switchIfEmpty(Mono.defer(() -> endOf(scope)))
                    .contextWrite(context -> ReactiveLocks.with(context, scope, held));
        }

        /** The transaction goes on keeping the lease, and checks it as this call needs it, too. */
        private Mono<LeaseScope> shared(HeldScope kept) {
            LeaseScope scope = call.scope(kept.scope().hold(), around);
            return ReactiveTransactions.checkToo(scope).thenReturn(scope);
        }

        private Mono<Attempt<? extends Hold>> attempt() {
            return Mono.create(sink -> {
                LeaseScope.refuseHeld(around, call.asked());
                if (outer && call.outerTransaction() == OuterTransaction.FAIL) {
                    throw call.refusedInTransaction();
                }
                Observation parent = sink.contextView().getOrDefault(ObservationThreadLocalAccessor.KEY, null);
                WaitObservation wait = WaitObservation.start(call.observations(), call.names(), parent);
                AtomicBoolean granted = new AtomicBoolean();
                // The body must not run on the thread of the subscriber or of the client: it may block.
                CompletableFuture<?> asked = wait.asking(() -> call.lock().holdWhile(call.maxWait(), hold -> {
                    granted.set(true);
                    Attempt<? extends Hold> acquired = new Attempt.Acquired<>(hold);
                    wait.ended(acquired);
                    if (!held.take(hold)) {
                        return CompletableFuture.completedFuture(null);
                    }
                    sink.success(acquired);
                    return held.released();
                }));
                sink.onCancel(() -> asked.cancel(true));
                asked.whenComplete((nothing, error) -> {
                    Throwable cause = StageCalls.cause(error);
                    if (cause != null && !granted.get()) {
                        refused(sink, wait, cause);
                    }
                });
            });
        }

        private static void refused(MonoSink<Attempt<? extends Hold>> sink, WaitObservation wait, Throwable error) {
            StageCalls.waited(wait, error);
            if (error instanceof LockBusyException busy) {
                sink.success(StageCalls.attempt(busy));
            } else {
                sink.error(error);
            }
        }

        private Publisher<Object> busy(Attempt.Busy<?> busy) {
            try {
                return publisher(call.whenBusy().result(busy));
            } catch (Throwable e) {
                return Mono.error(e);
            }
        }

        /** Hands the lease to the caller's transaction, if there is one. */
        private Mono<LeaseScope> begun(Hold hold) {
            LeaseScope scope = call.scope(hold, around);
            Mono<Void> handed = outer
                    ? ReactiveTransactions.releaseAfterCompletion(new HeldScope(scope, held))
                            .doOnSuccess(done -> handedOver = true)
                    : Mono.empty();
            return handed.thenReturn(scope);
        }

        private Publisher<Object> body(LeaseScope scope) {
            LeaseScope before = scope.enter();
            try {
                return publisher(call.body().run(scope.hold(), held));
            } catch (Throwable e) {
                return Mono.error(e);
            } finally {
                LeaseScope.backTo(before);
            }
        }

        private Publisher<Object> publisher(@Nullable Object returned) {
            return returned == null ? Mono.empty() : adapter.toPublisher(returned);
        }

        private boolean cancels() {
            return call.onLoss() == OnLoss.INTERRUPT;
        }

        /** Completes when the lease is lost, and never otherwise: that cancels the body, as an error here would not. */
        private static Mono<Object> loss(LeaseScope scope) {
            return Mono.create(sink -> scope.hold().onLost(cause -> sink.success()));
        }

        private static Throwable told(LeaseScope scope, Throwable error) {
            Throwable told = LeaseScope.outcome(scope.loss(), error);
            return told == null ? error : told;
        }

        /** Completes empty or with the loss that the end finds, and releases where no transaction goes on. */
        private Mono<Object> endOf(LeaseScope scope) {
            LeaseLostException lost = scope.loss();
            if (lost != null) {
                return Mono.error(lost);
            }
            return released().flatMap(outcome -> {
                LeaseLostException found = scope.foundBy(outcome);
                return found == null ? Mono.empty() : Mono.error(found);
            });
        }

        /** Gives back what is still this subscription's; empty where that is nothing, or fails: then the work is done, and what it has written is committed. */
        private Mono<ReleaseOutcome> released() {
            return handedOver
                    ? Mono.empty()
                    : Mono.fromFuture(held.release(), true).onErrorResume(error -> {
                        LOG.atWarn().setCause(error).log("releasing {} failed; it ends with its ttl", call.names());
                        return Mono.empty();
                    });
        }

        /** Waits for nothing: the subscriber has gone. */
        private Mono<Void> cancelled() {
            return Mono.fromRunnable(this::end);
        }

        private void end() {
            if (!handedOver) {
                var unused = held.releaseOnceLeft();
            }
        }
    }
}
