package example.orders;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The long form: many updates, and instances that are killed and replaced. */
@Tag("full")
class TwoInstancesTest {

    private static final int KILLS = Integer.getInteger("example.kills", 3);
    private static final int IN_EACH_THREAD = Integer.getInteger("example.updates", 1200) / KILLS / 4;

    @TempDir
    private Path directory;

    @Test
    void noUpdateIsLostWhileInstancesAreKilledAndReplaced() throws Exception {
        try (TwoInstances both = new TwoInstances(directory)) {
            for (int i = 1; i <= KILLS; i++) {
                both.addItems(i, IN_EACH_THREAD);
                assertThat(both.items(i)).isEqualTo(4L * IN_EACH_THREAD);
                both.awaitSettlements(3);
                String killed = both.killTheOneThatSettles();
                both.awaitSettlements(3);
                both.start(killed);
            }
            both.requireNoTwoSettlementsAtOnce();
        }
    }
}
