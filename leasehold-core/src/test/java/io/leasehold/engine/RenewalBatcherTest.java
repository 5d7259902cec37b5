package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The renewals that are sent together, their times, and their timer. */
@Tag("quick")
final class RenewalBatcherTest {

    private static final long SECOND = 1_000_000_000L;

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final TimerQueue timeline = new TimerQueue(runtime);
    private final RenewalBatcher batcher = new RenewalBatcher(runtime, timeline, store);
    private final List<String> told = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    private final class Grant implements RenewalBatcher.Renewable {
        private final String name;
        private final boolean held;

        Grant(String name, boolean held) {
            this.name = name;
            this.held = held;
        }

        @Override
        public boolean beginSending() {
            return held;
        }

        @Override
        public RenewBatch.Item item() {
            return new RenewBatch.Item(Workshop.NAME, OwnerToken.draw(runtime), SECOND, 0);
        }

        @Override
        public long answerNanos() {
            return name.equals("quick") ? SECOND : name.equals("patient") ? 3 * SECOND : 2 * SECOND;
        }

        @Override
        public void sent() {
            told.add(name + " sent");
        }

        @Override
        public void answered(RenewReply.Item answer) {
            told.add(name + " " + answer.getClass().getSimpleName());
            if (answer instanceof RenewReply.Failed failed) {
                failures.add(failed.error());
            }
        }
    }

    private Grant grant(String name) {
        return new Grant(name, true);
    }

    @Test
    void theSoonestOfABatchSendsThemAllWithOneTimer() {
        batcher.renew(grant("late"), 5 * SECOND);
        batcher.renew(grant("quick"), SECOND);
        batcher.renew(grant("later"), 9 * SECOND);
        assertThat(timeline.size()).as("the sooner one has replaced the first").isEqualTo(1);
        runtime.pass(Duration.ofSeconds(1));
        assertThat(told).containsExactly("late sent", "quick sent", "later sent");
        assertThat(store.renewals()).singleElement().satisfies(asked -> {
            assertThat(asked.request().items()).hasSize(3);
            assertThat(asked.request().timeoutNanos())
                    .as("of the most impatient")
                    .isEqualTo(SECOND);
        });
        assertThat(timeline.size()).isZero();
        runtime.pass(Duration.ofSeconds(10));
        assertThat(store.renewals()).hasSize(1);
    }

    /** Else, a store that pauses for a second would fail a renewal that has three. */
    @Test
    void thoseWithFarLongerTimeLimitsAreSentInARequestOfTheirOwn() {
        batcher.renew(grant("patient"), SECOND);
        batcher.renew(grant("quick"), SECOND);
        batcher.renew(grant("patient"), SECOND);
        runtime.pass(Duration.ofSeconds(1));
        assertThat(told).containsExactly("quick sent", "patient sent", "patient sent");
        assertThat(store.renewals())
                .extracting(asked -> asked.request().timeoutNanos())
                .containsExactly(SECOND, 3 * SECOND);
    }

    @Test
    void oneThatIsDueNowTakesTheOthersAlongAndLeavesNoTimer() {
        batcher.renew(grant("late"), 5 * SECOND);
        batcher.renew(grant("now"), 0);
        assertThat(told).containsExactly("late sent", "now sent");
        assertThat(timeline.size()).isZero();
    }

    @Test
    void whatIsReleasedMeanwhileIsNotSentAndEachAnswerGoesToItsOwn() {
        batcher.renew(new Grant("released", false), 0);
        assertThat(store.renewals()).isEmpty();
        batcher.renew(grant("first"), SECOND);
        batcher.renew(new Grant("released", false), SECOND);
        batcher.renew(grant("second"), SECOND);
        batcher.renew(grant("third"), SECOND);
        runtime.pass(Duration.ofSeconds(1));
        told.clear();
        store.renewals()
                .get(0)
                .answer()
                .complete(new RenewReply(List.of(new RenewReply.Renewed(1), new RenewReply.NotOurs())));
        assertThat(told)
                .as("the one without an answer has failed")
                .containsExactly("first Renewed", "second NotOurs", "third Failed");
    }

    @Test
    void moreThanAThousandGoInSeveralBatches() {
        for (int i = 0; i < 2_001; i++) {
            batcher.renew(grant("g"), SECOND);
        }
        runtime.pass(Duration.ofSeconds(1));
        assertThat(store.renewals())
                .extracting(asked -> asked.request().items().size())
                .containsExactly(1_000, 1_000, 1);
    }

    /** The renewal counts as failed, and must not be sent with the next one. The others keep their timer. */
    @Test
    void oneWhoseTimerCannotBeArmedIsNotSentAndTakesNoOtherWithIt() {
        batcher.renew(grant("late"), 5 * SECOND);
        AtomicInteger reads = new AtomicInteger();
        runtime.beforeAClockIsRead(() -> {
            if (reads.incrementAndGet() == 2) {
                throw new InternalError("made by the test");
            }
        });
        assertThatThrownBy(() -> batcher.renew(grant("failed"), SECOND)).isInstanceOf(InternalError.class);
        runtime.beforeAClockIsRead(() -> {});
        runtime.pass(Duration.ofSeconds(4));
        assertThat(told).isEmpty();
        runtime.pass(Duration.ofSeconds(1));
        assertThat(told).containsExactly("late sent");
    }

    @Test
    void whyARenewalFailedIsSaid() {
        batcher.renew(grant("first"), 0);
        batcher.renew(grant("second"), 0);
        store.renewals().get(0).answer().completeExceptionally(new IllegalStateException("made by the test"));
        store.renewals().get(1).answer().complete(new RenewReply(List.of()));
        assertThat(failures)
                .extracting(Throwable::getMessage)
                .containsExactly(
                        "renewal at " + store.description()
                                + " failed: java.lang.IllegalStateException: made by the test",
                        "renewal at " + store.description() + " failed: no answer for it");
    }
}
