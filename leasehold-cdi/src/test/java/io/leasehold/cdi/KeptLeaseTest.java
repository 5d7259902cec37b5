package io.leasehold.cdi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Hold;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.spi.method.AskedLocks;
import io.leasehold.spi.method.LeaseScope;
import jakarta.interceptor.InvocationContext;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that a lease that a transaction keeps is released once, by its last user. */
@Tag("quick")
class KeptLeaseTest {

    private int closes;

    private final Hold hold = (Hold) Proxy.newProxyInstance(
            Hold.class.getClassLoader(), new Class<?>[] {Hold.class}, (proxy, method, arguments) -> {
                assertThat(method.getName()).isEqualTo("close");
                closes++;
                return null;
            });

    private KeptLease kept(Duration guard) {
        return new KeptLease(new LeaseScope(locks("a"), hold, guard, null));
    }

    private static AskedLocks locks(String... names) {
        return new AskedLocks(
                "client", List.of(names).stream().map(LockName::of).toList(), names.length > 1);
    }

    @Test
    void theBodyAndTheTransactionGiveItBackTogether() {
        KeptLease kept = kept(Duration.ZERO);
        kept.leave();
        assertThat(closes).isZero();
        kept.leave();
        assertThat(closes).isOne();
    }

    @Test
    void eachFurtherBodyKeepsItToo() {
        KeptLease kept = kept(Duration.ZERO);
        assertThat(kept.enter()).isTrue();
        assertThat(kept.enter()).isTrue();
        for (int i = 0; i < 3; i++) {
            kept.leave();
            assertThat(closes).isZero();
        }
        kept.leave();
        assertThat(closes).isOne();
    }

    @Test
    void whatWasGivenBackIsSharedWithNobody() {
        KeptLease kept = kept(Duration.ZERO);
        kept.leave();
        kept.leave();
        assertThat(kept.enter()).isFalse();
        assertThat(kept.enter()).isFalse();
        assertThat(closes).isOne();
    }

    /** The largest guard of the transaction counts, not the last one. */
    @Test
    void aGuardIsToldOnceToTheTransaction() {
        KeptLease kept = kept(Duration.ofSeconds(2));
        assertThat(kept.raises(Duration.ofSeconds(2))).isFalse();
        assertThat(kept.raises(Duration.ofSeconds(5))).isTrue();
        assertThat(kept.raises(Duration.ofSeconds(5))).isFalse();
        assertThat(kept.raises(Duration.ofSeconds(3))).isFalse();
        assertThat(kept.raises(Duration.ofSeconds(6))).isTrue();
    }

    /** The transaction whose registry fails at each further guard, while it keeps this lease. */
    private static Transactions failingAtAGuard(KeptLease kept) {
        return new Transactions() {
            @Override
            public boolean isActive() {
                return true;
            }

            @Override
            public KeptLease kept(AskedLocks asked) {
                return kept;
            }

            @Override
            public boolean keep(KeptLease lease) {
                throw new AssertionError("another lease");
            }

            @Override
            public void guard(LeaseScope scope) {
                throw new IllegalStateException("made by the test");
            }
        };
    }

    @Locked(name = "a", maxWait = "0", commitGuard = "5s")
    @SuppressWarnings("UnusedMethod")
    void guarded() {}

    /** The body does not run: its part of the lease would keep the lock after the transaction. */
    @Test
    void aCallWhoseGuardCannotBeRegisteredDoesNotKeepIt() throws Exception {
        KeptLease kept = kept(Duration.ZERO);
        kept.leave();
        Method method = KeptLeaseTest.class.getDeclaredMethod("guarded");
        InvocationContext neverUsed = (InvocationContext) Proxy.newProxyInstance(
                InvocationContext.class.getClassLoader(),
                new Class<?>[] {InvocationContext.class},
                (proxy, called, arguments) -> {
                    throw new AssertionError(called);
                });
        try (LockClient client = Leasehold.connect("memory:")) {
            MethodLocks locks = new MethodLocks(
                    LockedMethodReader.read(method, method.getAnnotation(Locked.class)), client, failingAtAGuard(kept));
            LockCall call = new LockCall(locks, locks("a"), client.named("a"), neverUsed);
            assertThatThrownBy(() -> BlockingCalls.run(call))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("made by the test");
        }
        assertThat(closes).as("the transaction still keeps it").isZero();
        kept.leave();
        assertThat(closes).isOne();
    }

    @Test
    void aLockOfABodyFurtherOutIsRefusedToo() {
        LeaseScope outermost = new LeaseScope(locks("a"), hold, Duration.ZERO, null);
        LeaseScope between = new LeaseScope(locks("b", "c"), hold, Duration.ZERO, outermost);
        LeaseScope inner = new LeaseScope(locks("d"), hold, Duration.ZERO, between);
        for (String name : List.of("a", "b", "c", "d")) {
            assertThatThrownBy(() -> LeaseScope.refuseHeld(inner, locks("x", name)))
                    .as(name)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("not reentrant");
        }
        LeaseScope.refuseHeld(inner, locks("x", "y"));
        LeaseScope.refuseHeld(null, locks("a"));
    }

    @Test
    void theSameLocksAreSharedInAnyOrderAndNoOthers() {
        AskedLocks both = locks("a", "b");
        assertThat(both.areSameAs(locks("b", "a"))).isTrue();
        assertThat(both.areSameAs(locks("a", "c"))).isFalse();
        assertThat(both.areSameAs(new AskedLocks("other", both.names(), true))).isFalse();
        assertThat(both.overlap(new AskedLocks("other", both.names(), true))).isFalse();
        assertThat(new AskedLocks("client", List.of(LockName.of("a")), true).areSameAs(locks("a")))
                .as("one lock, and several that are one")
                .isFalse();
        assertThat(both.overlap(locks("b"))).isTrue();
    }
}
