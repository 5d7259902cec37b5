package io.leasehold.spring;

import io.leasehold.Attempt;
import io.leasehold.Hold;
import io.leasehold.LeaseLostException;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/** Locked bodies that are publishers: each subscription acquires, and releases when it completes, fails or is cancelled. */
final class PublisherCalls {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold");

    private PublisherCalls() {}

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
            Mono<LeaseScope> kept = shares ? ReactiveTransactions.kept(call) : Mono.empty();
            return kept.map(scope -> new Subscription(call, adapter, context, true, scope))
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

        /** What an earlier call in the caller's transaction has acquired, and that transaction gives back. */
        private final @Nullable LeaseScope kept;

        /** Guarded by {@code this}. */
        private boolean over;

        /** To be given back by this subscription, and by nothing else. Guarded by {@code this}. */
        private @Nullable Hold granted;

        Subscription(
                LockCall call, ReactiveAdapter adapter, ContextView context, boolean outer, @Nullable LeaseScope kept) {
            this.call = call;
            this.adapter = adapter;
            this.around = context.getOrDefault(LeaseScope.class, null);
            this.outer = outer;
            this.kept = kept;
        }

        Flux<Object> flux() {
            if (kept != null) {
                return inside(call.scope(kept.hold(), around));
            }
            return Flux.usingWhen(
                            attempt(),
                            attempt -> attempt instanceof Attempt.Busy<?> busy
                                    ? Flux.from(busy(busy))
                                    : begun(attempt.orElseThrow()).flatMapMany(this::inside),
                            this::released,
                            (attempt, error) -> released(attempt),
                            this::released)
                    .doFinally(signal -> end());
        }

        private Flux<Object> inside(LeaseScope scope) {
            Flux<Object> body = Flux.defer(() -> Flux.from(body(scope)));
            return (cancels() ? body.takeUntilOther(loss(scope)) : body)
                    .onErrorMap(error -> told(scope, error))
                    .concatWith(Mono.defer(() -> endOf(scope)))
                    .contextWrite(context -> context.put(LeaseScope.class, scope));
        }

        Mono<Object> mono() {
            if (kept != null) {
                return only(call.scope(kept.hold(), around));
            }
            return Mono.usingWhen(
                            attempt(),
                            attempt -> attempt instanceof Attempt.Busy<?> busy
                                    ? Mono.from(busy(busy))
                                    : begun(attempt.orElseThrow()).flatMap(this::only),
                            this::released,
                            (attempt, error) -> released(attempt),
                            this::released)
                    .doFinally(signal -> end());
        }

        private Mono<Object> only(LeaseScope scope) {
            Mono<Object> body = Mono.defer(() -> Mono.from(body(scope)));
            return (cancels() ? body.takeUntilOther(loss(scope)) : body)
                    .onErrorMap(error -> told(scope, error))
                    .flatMap(value -> endOf(scope).defaultIfEmpty(value))
                    .switchIfEmpty(Mono.defer(() -> endOf(scope)))
                    .contextWrite(context -> context.put(LeaseScope.class, scope));
        }

        private Mono<Attempt<? extends Hold>> attempt() {
            return Mono.create(sink -> {
                LeaseScope.refuseHeld(around, call.names());
                if (outer && call.outerTransaction() == OuterTransaction.FAIL) {
                    throw call.refusedInTransaction();
                }
                CompletableFuture<? extends Attempt<? extends Hold>> asked =
                        call.attemptAsync(sink.contextView().getOrDefault(ObservationThreadLocalAccessor.KEY, null));
                sink.onCancel(() -> asked.cancel(true));
                asked.whenComplete((attempt, error) -> {
                    if (error != null) {
                        sink.error(error);
                    } else {
                        keep(attempt.orElseNull());
                        sink.success(attempt);
                    }
                });
            });
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
                    ? ReactiveTransactions.releaseAfterCompletion(scope).doOnSuccess(done -> handedOver())
                    : Mono.empty();
            return handed.thenReturn(scope);
        }

        private synchronized void handedOver() {
            granted = null;
        }

        private Publisher<Object> body(LeaseScope scope) {
            LeaseScope before = scope.enter();
            try {
                return publisher(call.body().run(scope.hold()));
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

        /** What the end finds out, with the release where no transaction goes on: empty, or an error. */
        private Mono<Object> endOf(LeaseScope scope) {
            LeaseLostException lost = scope.loss();
            if (lost != null) {
                return Mono.error(lost);
            }
            Hold hold = taken();
            return hold == null
                    ? Mono.empty()
                    : Mono.fromFuture(hold.releaseAsync(), true)
                            .onErrorResume(unreleased(hold))
                            .flatMap(outcome -> {
                                LeaseLostException found = scope.foundBy(outcome);
                                return found == null ? Mono.empty() : Mono.error(found);
                            });
        }

        /** The work is done, and what it has written is committed. */
        private static <T> Function<Throwable, Mono<T>> unreleased(Hold hold) {
            return error -> {
                LOG.atWarn().setCause(error).log("releasing {} failed; it ends with its ttl", hold);
                return Mono.empty();
            };
        }

        private Mono<?> released(Attempt<? extends Hold> attempt) {
            Hold hold = taken();
            return hold == null
                    ? Mono.empty()
                    : Mono.fromFuture(hold.releaseAsync(), true).onErrorResume(unreleased(hold));
        }

        private synchronized @Nullable Hold taken() {
            Hold hold = granted;
            granted = null;
            return hold;
        }

        private void keep(@Nullable Hold hold) {
            synchronized (this) {
                if (!over) {
                    granted = hold;
                    return;
                }
            }
            giveBack(hold);
        }

        private void end() {
            synchronized (this) {
                over = true;
            }
            giveBack(taken());
        }

        private static void giveBack(@Nullable Hold hold) {
            if (hold != null) {
                hold.releaseAsync();
            }
        }
    }
}
