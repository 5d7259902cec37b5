package example.orders;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The short form: a few updates, a settlement, and an instance killed in the middle of the next one. */
@Tag("full")
class TwoInstancesSmokeTest {

    @TempDir
    private Path directory;

    @Test
    void twoInstancesShareTheirWorkAndOneGoesOnAlone() throws Exception {
        try (TwoInstances both = new TwoInstances(directory)) {
            both.addItems(1, 5);
            assertThat(both.items(1)).isEqualTo(20);
            both.killTheOneThatSettles();
            both.awaitSettlements(1);
            both.addItems(1, 5);
            assertThat(both.items(1)).isEqualTo(30);
            both.requireNoTwoSettlementsAtOnce();
            assertThat(both.remaining().get("/actuator/metrics/distributed.lock.wait"))
                    .contains("order:{}");
            assertThat(both.remaining().get("/actuator/health")).contains("UP");
            assertThat(both.remaining().get("/actuator/leasehold")).contains("jdbc:postgresql:");
        }
    }
}
