package io.leasehold.spring;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.MultiLease;
import reactor.core.publisher.Mono;

/** The lease under which a publisher runs: that of the innermost {@link Locked} method around its subscription. */
public final class ReactiveLocks {

    private ReactiveLocks() {}

    /** The innermost lease; fails with {@link IllegalStateException} in the cases of {@link Locks#current()}. */
    public static Mono<Lease> current() {
        return innermost()
                .map(hold -> Locks.only(Lease.class, hold, "takes several locks: use ReactiveLocks.currentMulti()"));
    }

    /** The innermost lease of several locks; fails with {@link IllegalStateException} in the cases of {@link Locks#currentMulti()}. */
    public static Mono<MultiLease> currentMulti() {
        return innermost()
                .map(hold -> Locks.only(MultiLease.class, hold, "takes one lock: use ReactiveLocks.current()"));
    }

    private static Mono<Hold> innermost() {
        return Mono.deferContextual(context -> {
            LeaseScope scope = context.getOrDefault(LeaseScope.class, null);
            return scope == null
                    ? Mono.error(new IllegalStateException(
                            "no locked body runs in this subscription: subscribe to it inside a publisher"
                                    + " that a @Locked method returns"))
                    : Mono.just(scope.hold());
        });
    }
}
