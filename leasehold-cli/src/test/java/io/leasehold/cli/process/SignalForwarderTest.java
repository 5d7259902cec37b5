package io.leasehold.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each signal is delivered once, and none is lost between two receivers. */
@Tag("quick")
class SignalForwarderTest {

    private final SignalForwarder signals = new SignalForwarder();
    private final List<ForwardedSignal> got = new ArrayList<>();

    @Test
    void whatComesBetweenTwoReceiversIsHandedOverOnce() {
        signals.received(ForwardedSignal.INT);
        signals.received(ForwardedSignal.TERM);
        signals.handTo(got::add);
        assertThat(got).containsExactly(ForwardedSignal.INT, ForwardedSignal.TERM);
        signals.handTo(null);
        signals.handTo(got::add);
        assertThat(got).hasSize(2);
    }

    @Test
    void aReceiverThatIsNotResponsibleAnyMoreGetsNone() {
        signals.handTo(got::add);
        signals.received(ForwardedSignal.HUP);
        signals.handTo(null);
        signals.received(ForwardedSignal.USR1);
        assertThat(got).containsExactly(ForwardedSignal.HUP);
        List<ForwardedSignal> next = new ArrayList<>();
        signals.handTo(next::add);
        signals.received(ForwardedSignal.TERM);
        assertThat(next).containsExactly(ForwardedSignal.USR1, ForwardedSignal.TERM);
        assertThat(got).hasSize(1);
    }

    @Test
    void theFirstIsRemembered() {
        assertThat(signals.first()).isNull();
        signals.handTo(got::add);
        signals.received(ForwardedSignal.HUP);
        signals.received(ForwardedSignal.TERM);
        assertThat(signals.first()).isEqualTo(ForwardedSignal.HUP);
    }
}
