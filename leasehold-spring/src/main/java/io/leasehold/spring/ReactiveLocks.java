package io.leasehold.spring;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.MultiLease;
import io.leasehold.spi.method.LeaseScope;
import reactor.core.publisher.Mono;
import reactor.util.context.Context;

/**
 * Finds the lease under which a publisher runs: that of the innermost {@link Locked} method or
 * {@code io.leasehold.reactor.ReactiveLocks} around its subscription. Both classes find the same lease.
 */
public final class ReactiveLocks {

    private ReactiveLocks() {}

    /** The innermost lease; fails with {@link IllegalStateException} in the cases of {@link Locks#current()}. */
    public static Mono<Lease> current() {
        return held(Lease.class, MultiLease.class, "takes several locks: use ReactiveLocks.currentMulti()");
    }

    /** The innermost lease of several locks; fails with {@link IllegalStateException} in the cases of {@link Locks#currentMulti()}. */
    public static Mono<MultiLease> currentMulti() {
        return held(MultiLease.class, Lease.class, "takes one lock: use ReactiveLocks.current()");
    }

    private static <H extends Hold> Mono<H> held(Class<H> kind, Class<? extends Hold> other, String otherwise) {
        return Mono.deferContextual(context -> context.<H>getOrEmpty(kind)
                .map(Mono::just)
                .orElseGet(() -> Mono.error(new IllegalStateException(
                        context.hasKey(other)
                                ? "the innermost locked body " + otherwise
                                : "no locked body runs in this subscription: subscribe to it inside a publisher"
                                        + " that a @Locked method returns"))));
    }

    /**
     * Adds the body to the context, its hold under the keys that leasehold-reactor also uses, and the tracker of
     * running code.
     */
    static Context with(Context context, LeaseScope scope, Inside inside) {
        boolean one = scope.hold() instanceof Lease;
        return context.put(LeaseScope.class, scope)
                .put(Inside.class, Inside.both(inside, context.getOrDefault(Inside.class, null)))
                .put(one ? Lease.class : MultiLease.class, scope.hold())
                .delete(one ? MultiLease.class : Lease.class);
    }
}
