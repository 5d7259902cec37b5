package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.ReentrantLockView;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A thread that wakes up on a machine that slept unlocks what it still holds, and leaves nothing held behind. */
@SuppressWarnings("LockNotBeforeTry")
@Tag("quick")
final class SuspendedViewTest {

    private static final LockName NAME = LockName.exactly("n");

    @Test
    void afterAShortSuspensionNothingIsLeftHeld() {
        VirtualRuntime runtime = VirtualRuntime.seeded(1);
        try (LockClient client =
                Leasehold.builder().store("memory:").runtime(runtime).connect()) {
            ReentrantLockView view = client.named(NAME).asReentrantLock();
            view.lock();
            long token = view.fencingToken();
            runtime.suspend(Duration.ofSeconds(5));
            assertThat(view.isHeldByCurrentThread()).as("the store says so").isTrue();
            view.lock();
            assertThat(view.fencingToken()).isEqualTo(token);
            view.unlock();
            view.unlock();
            runtime.runFor(Duration.ofSeconds(5));
            assertThat(client.admin().inspect(NAME)).isEmpty();
        }
    }
}
