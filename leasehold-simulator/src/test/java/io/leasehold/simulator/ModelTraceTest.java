package io.leasehold.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.ReleaseRequest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The transcribed model reports a step that it does not have, and follows exclusive locks only. */
@Tag("quick")
final class ModelTraceTest {

    private static final LockName NAME = LockName.exactly("n");

    private final LockRuntime runtime = new SystemLockRuntime();
    private final List<String> problems = new ArrayList<>();
    private final ModelTrace trace = new ModelTrace(problems::add);

    @AfterEach
    void close() {
        runtime.close();
    }

    private void ends(LockName name) {
        trace.released(
                new ReleaseRequest(
                        List.of(name), OwnerToken.draw(runtime), 100, ReleaseRequest.Kind.RELEASE, 1_000_000_000L),
                new ReleaseReply.Released(),
                List.of(),
                0,
                50);
    }

    @Test
    void aReleaseOfALockThatNobodyHoldsIsNotAnsweredWithYes() {
        ends(NAME);
        assertThat(problems).hasSize(1).first().asString().contains("NodeRelease told otherwise");
    }

    /** The end of a reader may come before all else at a node, and raises a fence that the model does not know. */
    @Test
    void itStopsAtTheFirstRequestOfAnotherKind() {
        ends(NAME.asRead());
        ends(NAME);
        assertThat(problems).isEmpty();
    }
}
