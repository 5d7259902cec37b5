package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LeaseLostException;
import io.leasehold.LockName;
import io.leasehold.LockOptions;
import io.leasehold.LossCause;
import io.leasehold.NodeVote;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The messages about a lease that ended, or from which more validity is requested than it can have. */
@Tag("quick")
final class LeaseMessagesTest {

    private static final LockName NAME = LockName.exactly("n");

    private static String logged(Runnable step) {
        PrintStream before = System.err;
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
        try {
            step.run();
        } finally {
            System.setErr(before);
        }
        return log.toString(StandardCharsets.UTF_8);
    }

    @Test
    void aLossNamesItsCauseAndWhereItWasFound() {
        Map<LossCause, String> said = Map.of(
                LossCause.EXPIRED, "no renewal succeeded in time at the store",
                LossCause.NOT_OURS, "the store reports that it is gone or has another holder",
                LossCause.FORCE_RELEASED, "an operator released it by force",
                LossCause.MAX_HOLD, "it reached maxHold and was no longer renewed",
                LossCause.SESSION_LOST, "the session at the store ended",
                LossCause.CLIENT_CLOSED, "its client was closed",
                LossCause.THREAD_DIED, "the thread that held it has died",
                LossCause.LEAKED, "its handle was dropped without a release");
        assertThat(said.keySet()).containsExactlyInAnyOrderElementsOf(Arrays.asList(LossCause.values()));
        List<NodeVote> votes = List.of(new NodeVote("a", NodeVote.Answer.FAILED, "gone"));
        said.forEach((cause, detail) -> {
            LeaseLostException lost = LeaseMessages.lost(NAME, cause, votes, "the store");
            assertThat(lost).hasMessageContainingAll("\"n\"", detail);
            assertThat(lost.lossCause()).isEqualTo(cause);
            assertThat(lost.votes()).isEqualTo(votes);
        });
    }

    /** A lease with the suggested ttl has that much validity left; with a ttl that is a little shorter, it does not. */
    @Test
    void aValidityThatNoLeaseIsSureToHaveIsRefusedWithTheTtlThatHasIt() {
        Workshop shop = new Workshop(new StillRuntime(), new SilentStore());
        assertThat(LeaseMessages.uncheckable(NAME, Duration.ofSeconds(40), shop.settings.timings()))
                .hasMessageContainingAll(
                        "ensureValidFor(40s)", "\"n\"", "ttl of 30s", "only sure to have 29.598s", "40545 ms");
        LockOptions advised = LockOptions.defaults().ttl(Duration.ofMillis(40_545));
        assertThat(advised.longestCheckable()).isBetween(Duration.ofSeconds(40), Duration.ofMillis(40_050));
    }

    @Test
    void whatIsAbandonedOrLostUnheardIsAnErrorOfTheLog() {
        assertThat(logged(() -> LeaseMessages.logAbandoned(NAME, 7, LossCause.THREAD_DIED, Duration.ofSeconds(3))))
                .contains(
                        "ERROR",
                        "lock=n",
                        "fencingToken=7",
                        "cause=THREAD_DIED",
                        "held=PT3S",
                        "\"n\" (token 7) was abandoned after 3s (THREAD_DIED)");
        assertThat(logged(() -> LeaseMessages.logUnreportedLoss(NAME, 7, LossCause.EXPIRED, "memory:")))
                .contains(
                        "ERROR",
                        "lock=n",
                        "fencingToken=7",
                        "cause=EXPIRED",
                        "store=memory:",
                        "\"n\" (token 7) was lost (EXPIRED) while it was in use");
    }
}
