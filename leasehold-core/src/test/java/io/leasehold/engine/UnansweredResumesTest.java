package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.engine.UnansweredResumes.Unanswered;
import io.leasehold.spi.OwnerToken;
import java.lang.ref.WeakReference;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the turns of attempts with one ticket ({@link UnansweredResumes}). */
@Tag("quick")
@Timeout(60)
final class UnansweredResumesTest {

    private static final int ATTEMPTS = 100_000;
    private static final long FORGOTTEN_AT_NANOS = 1_000;

    private final UnansweredResumes resumes = new UnansweredResumes();
    private final Unanswered unanswered =
            new Unanswered(OwnerToken.fromHex("b".repeat(40)), 70, FORGOTTEN_AT_NANOS, null);

    /**
     * Another thread forgets what is old, while this one gives the turn to attempts that are over. Between two of
     * them, no attempt has the turn.
     */
    @Test
    void noWaitingAttemptIsForgottenWithTheOldOneThatItWouldContinue() throws InterruptedException {
        AtomicBoolean done = new AtomicBoolean();
        CountDownLatch forgetting = new CountDownLatch(1);
        Thread other = new Thread(() -> {
            while (!done.get()) {
                resumes.enter("other", before -> false, FORGOTTEN_AT_NANOS + 1);
                forgetting.countDown();
            }
        });
        AtomicInteger begun = new AtomicInteger();
        resumes.enter("a", before -> true, 0);
        for (int i = 0; i < ATTEMPTS; i++) {
            resumes.enter(
                    "a",
                    before -> {
                        begun.incrementAndGet();
                        return false;
                    },
                    0);
        }
        other.start();
        try {
            forgetting.await();
            resumes.leave("a", unanswered);
        } finally {
            done.set(true);
            other.join();
        }
        assertThat(begun).hasValue(ATTEMPTS);
    }

    /** A process may resume a ticket for each of its jobs. */
    @Test
    void aTicketWhoseLastAttemptHasLeftIsForgotten() throws InterruptedException {
        WeakReference<String> secret = resumed();
        while (secret.get() != null) {
            System.gc();
            Thread.sleep(10);
        }
    }

    private WeakReference<String> resumed() {
        String secret = "a".repeat(40);
        resumes.enter(secret, before -> true, 0);
        resumes.leave(secret, null);
        return new WeakReference<>(secret);
    }

    @Test
    void whatTheStoreHasForgottenIsForgottenWhenNoAttemptWaits() {
        resumes.enter("a", before -> true, 0);
        resumes.leave("a", unanswered);
        resumes.enter("other", before -> true, FORGOTTEN_AT_NANOS);
        resumes.enter(
                "a",
                before -> {
                    assertThat(before).isNull();
                    return true;
                },
                0);
    }
}
