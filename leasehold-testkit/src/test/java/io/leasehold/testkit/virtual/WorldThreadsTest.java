package io.leasehold.testkit.virtual;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Threads of the processes of a virtual world: one runs at a time, in virtual time, and a seed decides their order. */
@Tag("quick")
@Timeout(60)
final class WorldThreadsTest {

    private static CompletableFuture<Void> after(VirtualRuntime process, Duration time) {
        CompletableFuture<Void> over = new CompletableFuture<>();
        process.schedule(time.toNanos(), () -> over.complete(null));
        return over;
    }

    private static void sleep(VirtualRuntime process, long millis) {
        try {
            process.await(after(process, Duration.ofMillis(millis)));
        } catch (InterruptedException e) {
            throw new IllegalStateException("the world has ended", e);
        }
    }

    private static List<String> told(long seed) {
        VirtualWorld world = VirtualWorld.seeded(seed);
        List<String> told = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            VirtualRuntime process = world.process("p" + i);
            process.startThread("t", () -> {
                for (int turn = 0; turn < 20; turn++) {
                    sleep(process, 1 + world.randomBelow(3));
                    told.add(process.name() + " at " + world.elapsedNanos());
                }
            });
        }
        world.runFor(Duration.ofSeconds(1));
        assertThat(told).hasSize(80);
        assertThat(world.elapsed()).isEqualTo(Duration.ofSeconds(1));
        told.add(String.valueOf(world.traceHash()));
        return told;
    }

    @Test
    void theSameSeedGivesTheSameOrder() {
        assertThat(told(7)).isEqualTo(told(7)).isNotEqualTo(told(8));
    }

    @Test
    void aFrozenProcessRunsNoThread() {
        VirtualWorld world = VirtualWorld.seeded(1);
        VirtualRuntime process = world.process("p");
        List<Long> woken = new ArrayList<>();
        process.startThread("t", () -> {
            sleep(process, 10);
            woken.add(world.elapsed().toMillis());
        });
        world.runFor(Duration.ofMillis(5));
        process.freeze(Duration.ofMillis(100));
        world.runFor(Duration.ofMillis(99));
        assertThat(woken).isEmpty();
        world.runFor(Duration.ofMillis(100));
        assertThat(woken).containsExactly(105L);
    }

    @Test
    void aThreadOfACrashedProcessEndsWithTheWorld() {
        VirtualWorld world = VirtualWorld.seeded(1);
        VirtualRuntime process = world.process("p");
        List<String> told = new ArrayList<>();
        process.startThread("t", () -> {
            try {
                process.await(new CompletableFuture<>());
                told.add("came");
            } catch (InterruptedException e) {
                told.add("ended");
            }
        });
        world.runFor(Duration.ofMillis(1));
        process.crash();
        world.runFor(Duration.ofSeconds(1));
        assertThat(told).isEmpty();
        world.end(() -> {});
        assertThat(told).containsExactly("ended");
    }

    @Test
    void whatAThreadThrowsEndsTheRun() {
        VirtualWorld world = VirtualWorld.seeded(1);
        world.process("p").startThread("t", () -> {
            throw new IllegalArgumentException("no good");
        });
        assertThatThrownBy(() -> world.runFor(Duration.ofSeconds(1)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no good");
    }
}
