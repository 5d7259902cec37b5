package io.leasehold.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockListener.Abandoned;
import io.leasehold.LockListener.AtRisk;
import io.leasehold.LockListener.AttemptBegan;
import io.leasehold.LockListener.AttemptEnded;
import io.leasehold.LockListener.AttemptOutcome;
import io.leasehold.LockListener.Lost;
import io.leasehold.LockListener.Released;
import io.leasehold.LockListener.RenewalOutcome;
import io.leasehold.LockListener.Renewed;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.context.ApplicationEventPublisher;

/** Tests of the effect of a client's events on its status, and of the events that an application receives. */
@Tag("quick")
class LeaseStatusTest {

    private static final Duration SOME = Duration.ofSeconds(1);

    private final LeaseStatus status = new LeaseStatus();

    private static LockName name(String text) {
        return LockName.exactly(text);
    }

    private void began(String name) {
        status.attemptBegan(new AttemptBegan(name(name)));
    }

    private void ended(String name, AttemptOutcome outcome) {
        status.attemptEnded(new AttemptEnded(name(name), outcome, SOME));
    }

    private static Lost lost(String name) {
        return new Lost(name(name), 1, LossCause.EXPIRED, SOME, List.of());
    }

    private static Released released(String name) {
        return new Released(name(name), 1, ReleaseOutcome.RELEASED, SOME, List.of());
    }

    private static LeaseStatus.Count count(String name, int count) {
        return new LeaseStatus.Count(name, count);
    }

    @Test
    void permitsAreNotCountedAsTheLockOfTheirName() {
        LockName permits = name("pool").asPermits(2);
        began("pool");
        status.attemptBegan(new AttemptBegan(permits));
        assertThat(status.waiting()).containsExactly(count("permits pool", 1), count("pool", 1));
        ended("pool", AttemptOutcome.ACQUIRED);
        status.attemptEnded(new AttemptEnded(permits, AttemptOutcome.ACQUIRED, SOME));
        assertThat(status.held()).containsExactly(count("permits pool", 1), count("pool", 1));
        status.released(new Released(permits, 1, ReleaseOutcome.RELEASED, SOME, List.of()));
        assertThat(status.held()).containsExactly(count("pool", 1));
        status.released(released("pool"));
        status.attemptBegan(new AttemptBegan(permits));
        status.attemptEnded(new AttemptEnded(permits, AttemptOutcome.ACQUIRED, SOME));
        status.lost(new Lost(permits, 1, LossCause.EXPIRED, SOME, List.of()));
        assertThat(status.held()).isEmpty();
    }

    @Test
    void eachHoldIsCountedUntilItEnds() {
        for (String name : List.of("b", "a", "b", "b")) {
            began(name);
        }
        assertThat(status.waiting()).containsExactly(count("a", 1), count("b", 3));
        for (String name : List.of("b", "a", "b", "b")) {
            ended(name, AttemptOutcome.ACQUIRED);
        }
        assertThat(status.waiting()).isEmpty();
        assertThat(status.held()).containsExactly(count("a", 1), count("b", 3));
        status.released(released("b"));
        assertThat(status.held()).containsExactly(count("a", 1), count("b", 2));
        status.lost(lost("b"));
        status.lost(lost("a"));
        assertThat(status.held()).containsExactly(count("b", 1));
        assertThat(status.lostSinceStart()).isEqualTo(2);
        status.released(released("b"));
        assertThat(status.held()).isEmpty();
        assertThat(status.lostSinceStart()).isEqualTo(2);
    }

    @ParameterizedTest
    @EnumSource(AttemptOutcome.class)
    void noAttemptThatHasEndedWaits(AttemptOutcome outcome) {
        began("a");
        began("a");
        ended("a", outcome);
        assertThat(status.waiting()).containsExactly(count("a", 1));
        ended("a", outcome);
        assertThat(status.waiting()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"ACQUIRED,YES", "BUSY,YES", "TIMEOUT,YES", "ERROR,NO", "AMBIGUOUS,NO", "INTERRUPTED,NO"})
    void anOutcomeTellsWhetherTheStoreAnswered(AttemptOutcome outcome, LeaseStatus.Answers answers) {
        assertThat(status.answers()).isEqualTo(LeaseStatus.Answers.UNKNOWN);
        ended("a", AttemptOutcome.ERROR);
        ended("a", outcome);
        assertThat(status.answers()).isEqualTo(answers);
    }

    @ParameterizedTest
    @CsvSource({"RENEWED,YES", "NOT_OURS,YES", "FAILED,NO"})
    void soDoesARenewal(RenewalOutcome outcome, LeaseStatus.Answers answers) {
        for (int time = 1; time <= 2; time++) {
            status.renewed(new Renewed(name("a"), 1, outcome, SOME, SOME));
            assertThat(status.answers()).isEqualTo(answers);
            ended("a", AttemptOutcome.BUSY);
            assertThat(status.answers()).isEqualTo(LeaseStatus.Answers.YES);
        }
    }

    /** A listener of the application may block; the client's threads must not. */
    @Test
    void anApplicationHearsOfLossesOnAThreadOfItsOwn() throws InterruptedException {
        BlockingQueue<Object> heard = new LinkedBlockingQueue<>();
        BlockingQueue<Thread> threads = new LinkedBlockingQueue<>();
        ApplicationEventPublisher publisher = event -> {
            threads.add(Thread.currentThread());
            heard.add(event);
        };
        LeaseEvents events = new LeaseEvents(publisher);
        AtRisk atRisk = new AtRisk(name("a"), 1, SOME);
        Abandoned abandoned = new Abandoned(name("a"), 1, LossCause.LEAKED, SOME);
        Lost lost = lost("a");
        events.atRisk(atRisk);
        assertThat(heard.poll(1, TimeUnit.MINUTES)).isEqualTo(atRisk);
        events.abandoned(abandoned);
        assertThat(heard.poll(1, TimeUnit.MINUTES)).isEqualTo(abandoned);
        events.lost(lost);
        assertThat(heard.poll(1, TimeUnit.MINUTES)).isEqualTo(lost);
        assertThat(threads).hasSize(3).allSatisfy(thread -> {
            assertThat(thread).isNotSameAs(Thread.currentThread());
            assertThat(thread.isDaemon()).isTrue();
        });
    }
}
