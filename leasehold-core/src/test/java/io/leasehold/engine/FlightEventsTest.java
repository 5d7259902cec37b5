package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.Permit;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The flight recorder events of waits, holds, renewals and losses. */
@Tag("quick")
class FlightEventsTest {

    @TempDir
    private Path folder;

    @Test
    void showsWaitHoldRenewalAndLoss() throws IOException {
        List<RecordedEvent> events = recorded(Duration.ZERO, FlightEventsTest::workAndLose);

        RecordedEvent wait = only(events, "io.leasehold.Wait", "work");
        assertThat(wait.getString("outcome")).isEqualTo("ACQUIRED");
        assertThat(wait.getString("store")).startsWith("memory");
        RecordedEvent renewal = only(events, "io.leasehold.Renewal", "work");
        assertThat(renewal.getString("outcome")).isEqualTo("RENEWED");
        assertThat(renewal.getDuration("headroom")).isPositive();
        RecordedEvent hold = only(events, "io.leasehold.Hold", "work");
        assertThat(hold.getString("end")).isEqualTo("RELEASED");
        assertThat(hold.getLong("fencingToken")).isPositive();
        assertThat(hold.getDuration()).as("from the grant on").isGreaterThanOrEqualTo(Duration.ofMillis(2));
        RecordedEvent loss = only(events, "io.leasehold.Loss", "lost");
        assertThat(loss.getString("lossCause")).isEqualTo("FORCE_RELEASED");
        assertThat(loss.getString("store")).isEqualTo("memory:");
        assertThat(only(events, "io.leasehold.Hold", "lost").getString("end")).isEqualTo("LOST");
    }

    @Test
    void permitsAreNotTheLockOfTheirName() throws IOException {
        List<RecordedEvent> events = recorded(Duration.ZERO, locks -> {
            try (Lease lock = locks.named("pool").acquire();
                    Permit permit = locks.permits("pool", 1).acquire()) {
                permit.renew();
                locks.admin().forceReleasePermit(permit.lockName(), 0, null);
                assertThat(lock.isValid()).isTrue();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });

        for (String name : List.of("pool", "permits pool")) {
            only(events, "io.leasehold.Wait", name);
            only(events, "io.leasehold.Hold", name);
        }
        only(events, "io.leasehold.Renewal", "permits pool");
        only(events, "io.leasehold.Loss", "permits pool");
    }

    @Test
    void aThresholdKeepsShortOnesOutAndALossIn() throws IOException {
        List<RecordedEvent> events = recorded(Duration.ofHours(1), FlightEventsTest::workAndLose);

        assertThat(events).extracting(event -> event.getEventType().getName()).containsExactly("io.leasehold.Loss");
    }

    @Test
    void thereIsNoEventWhileNothingIsRecorded() {
        assertThat(FlightEvents.waitBegun()).isNull();
        assertThat(FlightEvents.holdBegun()).isNull();
        assertThat(FlightEvents.renewalBegun()).isNull();
    }

    private static void workAndLose(LockClient locks) {
        try (Lease lease = locks.named("work").acquire()) {
            lease.renew();
            Thread.sleep(2);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        try (Lease lease = locks.named("lost").acquire()) {
            assertThat(locks.admin().forceRelease(LockName.exactly("lost"), null))
                    .isTrue();
            assertThat(lease.isValid()).isFalse();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private List<RecordedEvent> recorded(Duration threshold, Consumer<LockClient> work) throws IOException {
        Path file = folder.resolve("locks.jfr");
        try (Recording recording = new Recording()) {
            for (String name : List.of("Wait", "Hold", "Renewal")) {
                recording.enable("io.leasehold." + name).withThreshold(threshold);
            }
            recording.enable("io.leasehold.Loss");
            recording.start();
            try (LockClient locks = Leasehold.connect("memory:")) {
                work.accept(locks);
            }
            recording.stop();
            recording.dump(file);
        }
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().startsWith("io.leasehold."))
                .toList();
    }

    private static RecordedEvent only(List<RecordedEvent> events, String type, String lock) {
        List<RecordedEvent> found = events.stream()
                .filter(event -> event.getEventType().getName().equals(type) && lock.equals(event.getString("lock")))
                .toList();
        assertThat(found).as("%s of %s", type, lock).hasSize(1);
        return found.get(0);
    }
}
