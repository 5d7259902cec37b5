package io.leasehold.spi.method;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Durations;
import io.leasehold.Fairness;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The options of a method at the locks of a client, and the refusal of unsupported options. */
@Tag("quick")
class ClientLocksTest {

    private static final OptionChanges NONE = new OptionChanges(null, null, null, null);

    private final LockClient client = Leasehold.connect("memory:");
    private final LockOptions given = client.named("x").options();

    @AfterEach
    void close() {
        client.close();
    }

    private ClientLocks locks(OptionChanges changes, @Nullable Duration commitGuard) {
        return new ClientLocks(
                client,
                changes,
                commitGuard,
                (problem, cure) -> new UnsupportedOperationException(problem + ". " + cure));
    }

    @Test
    void aMethodThatChangesNothingHasTheOptionsOfTheClient() {
        ClientLocks locks = locks(NONE, null);
        assertThat(locks.one(LockName.of("a")).options()).isEqualTo(given);
        assertThat(locks.holderId()).isEqualTo(client.holderId());
        assertThat(locks.commitGuard()).isEqualTo(given.nodeTimeout().multipliedBy(2));
    }

    @Test
    void whatAMethodChangesHoldsForOneLockAndForSeveral() {
        OptionChanges changes = new OptionChanges(
                Duration.ofSeconds(20), Duration.ofHours(2), Duration.ofSeconds(1), Fairness.STRICT_FIFO);
        LockOptions wanted = given.ttl(Duration.ofSeconds(20))
                .maxHold(Duration.ofHours(2))
                .atLeast(Duration.ofSeconds(1))
                .fairness(Fairness.STRICT_FIFO);
        ClientLocks locks = locks(changes, Duration.ofMillis(123));
        assertThat(locks.one(LockName.of("a")).options()).isEqualTo(wanted);
        assertThat(locks.all(List.of(LockName.of("a"), LockName.of("b"))).options())
                .isEqualTo(wanted);
        assertThat(locks.commitGuard()).isEqualTo(Duration.ofMillis(123));
    }

    @Test
    void aCommitGuardThatAHealthyLeaseDoesNotHaveIsRefused() {
        Duration most = given.longestCheckable();
        assertThat(locks(NONE, most).commitGuard()).isEqualTo(most);
        assertThatThrownBy(() -> locks(NONE, most.plusMillis(1)))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageStartingWith("has a commitGuard of " + Durations.text(most.plusMillis(1)))
                .hasMessageEndingWith("Write a shorter commitGuard or a longer ttl");
    }

    @Test
    void unsafeTimingsAreRefusedInTheWordsOfTheOptions() {
        assertThatThrownBy(() -> locks(new OptionChanges(Duration.ofMillis(1), null, null, null), null))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageStartingWith("has unsafe timings: ")
                .hasMessageEndingWith("Change the options named above");
    }

    @Test
    void theDefaultGuardIsTwoNodeTimeoutsAndNeverMoreThanAHealthyLeaseHas() {
        assertThat(ClientLocks.defaultGuard(given))
                .isEqualTo(given.nodeTimeout().multipliedBy(2));
    }
}
