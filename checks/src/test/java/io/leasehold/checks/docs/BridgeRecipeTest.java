package io.leasehold.checks.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Lease;
import io.leasehold.LeaseLostException;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.checks.Documents;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The recipe for two locks while a fleet moves from one to the other: both locks or none, even if the older one is
 * lost.
 */
@Tag("quick")
@Timeout(120)
class BridgeRecipeTest {

    private static final LockName NAME = LockName.exactly("order:1001");

    @TempDir
    private static Path directory;

    private static Scene recipe() {
        CodeBlock block = CodeBlock.in(Documents.root(), "java").stream()
                .filter(one ->
                        one.document().equals("docs/fencing.md") && one.text().contains("oldLocks"))
                .findFirst()
                .orElseThrow();
        return Compiled.of(block, block.text(), directory);
    }

    private static CompletableFuture<Void> start(Scene scene) {
        CompletableFuture<Void> run = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                scene.run();
                run.complete(null);
            } catch (Throwable e) {
                run.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return run;
    }

    private static void awaitHeld(LockClient locks, boolean held) throws InterruptedException {
        while (locks.admin().inspect(NAME).isPresent() != held) {
            Thread.sleep(1);
        }
    }

    private static void assertFree(Scene scene) {
        assertThat(scene.oldLocks.admin().inspect(NAME)).isEmpty();
        assertThat(scene.newLocks.admin().inspect(NAME)).isEmpty();
    }

    @Test
    void worksWhileBothAreHeld() throws Exception {
        try (Scene scene = recipe()) {
            scene.run();
            assertThat(scene.worked.getCount()).isZero();
            assertFree(scene);
        }
    }

    @Test
    void theWorkIsNotDoneIfTheOlderLockWasLostWhileTheNewerOneWasWaitedFor() throws Exception {
        try (Scene scene = recipe()) {
            Lease busy = scene.newLocks.named(NAME).acquire();
            CompletableFuture<Void> run = start(scene);
            awaitHeld(scene.oldLocks, true);
            assertThat(scene.oldLocks.admin().forceRelease(NAME, null)).isTrue();
            try (Lease other = scene.oldLocks.named(NAME).tryAcquire(Duration.ofSeconds(30))) {
                assertThat(other).isNotNull();
                // A lease reports only a loss that its holder knows.
                assertThat(scene.lostOfOld.await(60, TimeUnit.SECONDS)).isTrue();
                busy.release();
                assertThatThrownBy(() -> run.get(60, TimeUnit.SECONDS))
                        .isInstanceOf(ExecutionException.class)
                        .hasCauseInstanceOf(LeaseLostException.class);
                assertThat(scene.worked.getCount()).as("not worked").isOne();
            }
            assertFree(scene);
        }
    }

    @Test
    void theOlderLockIsGivenBackIfTheNewerStoreCannotServe() throws Exception {
        try (Scene scene = recipe()) {
            scene.newLocks.close();
            assertThatThrownBy(scene::run).isInstanceOf(IllegalStateException.class);
            assertThat(scene.oldLocks.admin().inspect(NAME)).isEmpty();
            assertThat(scene.worked.getCount()).isOne();
        }
    }
}
