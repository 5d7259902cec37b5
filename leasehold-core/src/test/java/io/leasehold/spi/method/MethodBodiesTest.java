package io.leasehold.spi.method;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Hold;
import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The bodies around a body, and the locks of a transaction that keeps a lease. */
@Tag("quick")
class MethodBodiesTest {

    private static final Duration GUARD = Duration.ofSeconds(1);

    private @Nullable RuntimeException end;
    /** The outcome of a release, which fails without one. */
    private @Nullable ReleaseOutcome released;

    /** Valid until {@link #end} sets the reason why it is not. */
    private final Hold hold = (Hold) Proxy.newProxyInstance(
            Hold.class.getClassLoader(), new Class<?>[] {Hold.class}, (proxy, method, arguments) -> {
                if (method.getName().equals("ensureValidFor") && end != null) {
                    throw end;
                }
                if (method.getName().equals("release")) {
                    if (released == null) {
                        throw new IllegalStateException("made by the test");
                    }
                    return released;
                }
                if (method.getName().equals("ensureValidForAsync")) {
                    return end == null ? CompletableFuture.completedStage(null) : CompletableFuture.failedStage(end);
                }
                return method.getName().equals("equals") ? proxy == arguments[0] : null;
            });

    private static AskedLocks locks(String... names) {
        return new AskedLocks("client", Stream.of(names).map(LockName::of).toList(), names.length > 1);
    }

    private LeaseScope scope(String... names) {
        return new LeaseScope(locks(names), hold, GUARD, null);
    }

    @Test
    void aBodyRunsInItsScopeAndTheOneAroundItReturnsWhateverHappens() {
        LeaseScope outer = scope("a");
        LeaseScope inner = scope("b");
        IOException failure = new IOException("of the body");
        String result = outer.run(false, () -> {
            assertThat(LeaseScope.current()).isSameAs(outer);
            assertThatThrownBy(() -> inner.run(true, () -> {
                        assertThat(LeaseScope.current()).isSameAs(inner);
                        throw failure;
                    }))
                    .isSameAs(failure);
            assertThat(LeaseScope.current()).isSameAs(outer);
            return "done";
        });
        assertThat(result).isEqualTo("done");
        assertThat(LeaseScope.current()).isNull();
    }

    @Test
    void aReleaseReportsALossThatItFindsAndLogsItsFailure() {
        for (ReleaseOutcome outcome : ReleaseOutcome.values()) {
            released = outcome;
            assertThat(scope("a").release() != null).isEqualTo(outcome == ReleaseOutcome.ALREADY_LOST);
        }
        released = null;
        assertThat(scope("a").release()).isNull();
    }

    /** From the innermost body outwards, the first body with a guardian is notified of the transaction. */
    @Test
    void aTransactionThatBeginsIsToldToTheNearestBodyThatHearsOfIt() {
        List<String> guarded = new ArrayList<>();
        LeaseScope outermost =
                new LeaseScope(locks("a"), hold, GUARD, null, scope -> guarded.add("outermost of " + scope.locks()));
        LeaseScope between =
                new LeaseScope(locks("b"), hold, GUARD, outermost, scope -> guarded.add("between of " + scope.locks()));
        LeaseScope inner = new LeaseScope(locks("c"), hold, GUARD, between);
        inner.guardTransaction();
        assertThat(guarded).containsExactly("between of [c]");
        outermost.guardTransaction();
        assertThat(guarded).containsExactly("between of [c]", "outermost of [a]");
        scope("d").guardTransaction();
        assertThat(guarded).hasSize(2);
    }

    @Test
    void aThreadIsInTheBodyThatItEnteredLastUntilItLeavesIt() {
        assertThat(LeaseScope.current()).isNull();
        LeaseScope outer = scope("a");
        LeaseScope inner = scope("b");
        LeaseScope before = outer.enter();
        assertThat(inner.enter()).isSameAs(outer);
        assertThat(LeaseScope.current()).isSameAs(inner);
        LeaseScope.backTo(outer);
        assertThat(LeaseScope.current()).isSameAs(outer);
        LeaseScope.backTo(before);
        assertThat(LeaseScope.current()).isNull();
    }

    @Test
    void whatAnotherBodyChecksIsEnoughIfItIsTheSameHoldWithNoSmallerGuard() {
        LeaseScope known = scope("a");
        assertThat(new LeaseScope(locks("a"), hold, GUARD, null).isCheckedBy(known))
                .isTrue();
        assertThat(new LeaseScope(locks("a"), hold, GUARD.plusMillis(1), null).isCheckedBy(known))
                .isFalse();
        Hold other = new MethodBodiesTest().hold;
        assertThat(new LeaseScope(locks("a"), other, GUARD, null).isCheckedBy(known))
                .isFalse();
    }

    @Test
    void aLossIsFoundByTheHoldOrByItsRelease() {
        LeaseScope scope = scope("a", "b");
        assertThat(scope.loss()).isNull();
        end = new IllegalStateException("it was released");
        assertThat(scope.loss()).isNull();
        end = new LeaseLostException(LockName.of("a"), LossCause.EXPIRED, "it had ended");
        assertThat(scope.loss()).isSameAs(end);
        assertThat(scope.foundBy(ReleaseOutcome.RELEASED)).isNull();
        assertThat(scope.foundBy(ReleaseOutcome.UNCONFIRMED)).isNull();
        assertThat(scope.foundBy(ReleaseOutcome.ALREADY_LOST))
                .isInstanceOf(LeaseLostException.class)
                .hasMessageContaining("\"a\"")
                .hasMessageContaining("it was gone when it was released after the method");
    }

    @Test
    void theLossIsTheEndForTheCallerUnlessTheBodyHasToldIt() {
        LeaseLostException lost = new LeaseLostException(LockName.of("a"), LossCause.EXPIRED, "it had ended");
        LeaseLostException same = new LeaseLostException(LockName.of("a"), LossCause.EXPIRED, "seen by the body");
        LeaseLostException other = new LeaseLostException(LockName.of("b"), LossCause.EXPIRED, "of another lock");
        assertThat(LeaseScope.outcome(null, null)).isNull();
        assertThat(LeaseScope.outcome(null, other)).isSameAs(other);
        assertThat(LeaseScope.outcome(lost, same)).isSameAs(same);
        assertThat(LeaseScope.outcome(lost, null)).isSameAs(lost).hasNoSuppressedExceptions();
        assertThat(LeaseScope.outcome(lost, other)).isSameAs(lost);
        assertThat(lost.getSuppressed()).containsExactly(other);
    }

    @Test
    void ofWhatATransactionKeepsThatWithJustTheseLocksIsSharedAndNoPartOfIt() {
        List<LeaseScope> kept = List.of(scope("x"), scope("a", "b"));
        assertThat(locks("b", "a").keptAmong(kept, scope -> scope)).isSameAs(kept.get(1));
        assertThat(locks("c").keptAmong(kept, scope -> scope)).isNull();
        for (AskedLocks part : List.of(locks("a"), locks("a", "b", "c"))) {
            assertThatThrownBy(() -> part.keptAmong(kept, scope -> scope))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("the locks " + part + " are requested inside a transaction of the caller");
        }
        end = new LeaseLostException(LockName.of("a"), LossCause.EXPIRED, "it had ended");
        assertThatThrownBy(() -> locks("a", "b").keptAmong(kept, scope -> scope))
                .isSameAs(end);
    }

    @Test
    void aLockOfABodyFurtherOutIsRefusedToo() {
        LeaseScope outer = scope("a");
        LeaseScope inner = new LeaseScope(locks("b", "c"), hold, GUARD, outer);
        for (String name : List.of("a", "b", "c")) {
            assertThatThrownBy(() -> LeaseScope.refuseHeld(inner, locks("x", name)))
                    .as(name)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("not reentrant");
        }
        LeaseScope.refuseHeld(inner, locks("x", "y"));
        LeaseScope.refuseHeld(inner, new AskedLocks("another client", locks("a").names(), false));
        LeaseScope.refuseHeld(null, locks("a"));
        assertThat(inner.commitGuard()).isEqualTo(GUARD);
    }

    /** A body that was released inside itself commits nothing, with either form of the check. */
    @Test
    void aCommitOfAReleasedBodyFailsWithoutAThreadToo() {
        end = new IllegalStateException("it was released");
        assertThatThrownBy(() -> scope("a").checkCommit()).isSameAs(end);
        assertThat(scope("a").checkCommitAsync())
                .isCompletedExceptionally()
                .failsWithin(Duration.ZERO)
                .withThrowableThat()
                .withCause(end);
    }

    @Test
    void eachParameterIsFilledWithWhatItsTypeAsksFor() {
        Lease lease = (Lease) Proxy.newProxyInstance(
                Lease.class.getClassLoader(),
                new Class<?>[] {Lease.class},
                (proxy, method, arguments) -> method.getName().equals("fencingToken") ? (Object) 7L : null);
        Object[] given = {"x", null, null};
        assertThat(new LeaseSlots(-1, -1, -1).filled(given, hold)).containsExactly("x", null, null);
        assertThat(new LeaseSlots(0, -1, -1).filled(given, lease)[0]).isSameAs(lease);
        assertThat(new LeaseSlots(-1, 0, -1).filled(given, hold)[0]).isSameAs(hold);
        assertThat(new LeaseSlots(-1, -1, 0).filled(given, lease)).containsExactly(7L, null, null);
        assertThat(given).containsExactly("x", null, null);
    }

    @Test
    void aMethodTakesTheLeaseOfOneLockOrOfSeveralOrNone() {
        assertThat(new LeaseSlots(-1, -1, -1).isEmpty()).isTrue();
        for (LeaseSlots one : List.of(new LeaseSlots(0, -1, -1), new LeaseSlots(-1, -1, 0))) {
            assertThat(one.isEmpty()).isFalse();
            assertThat(one.wantOne()).isTrue();
        }
        assertThat(new LeaseSlots(-1, 0, -1).isEmpty()).isFalse();
        assertThat(new LeaseSlots(-1, 0, -1).wantOne()).isFalse();
    }
}
