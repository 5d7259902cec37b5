package io.leasehold.fencing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("quick")
class FencingHeaderTest {

    @Test
    void readsWhatItWrites() {
        for (long token : new long[] {1, 1_790_000_000_000_000L, FencingToken.LARGEST}) {
            assertThat(FencingHeader.parse(FencingHeader.format(token))).isEqualTo(token);
            assertThat(FencingHeader.parse(" " + token + "\t")).isEqualTo(token);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                " ",
                "0",
                "-1",
                "+1",
                "01",
                "1.0",
                "1e3",
                "0x1",
                "1, 2",
                "\u0661",
                "9007199254740992",
                "1790000000000000\r\nX: y",
                "99999999999999999999999999"
            })
    void refusesEverythingElseWithoutRepeatingIt(String value) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FencingHeader.parse(value))
                .withMessageNotContaining("\r")
                .withMessageContaining("token");
    }

    @Test
    void hasAStatusForEachAnswer() {
        assertThat(FencingHeader.status(new Admission.Admitted("r", 1))).isZero();
        assertThat(FencingHeader.status(new Admission.Rejected("r", 1, 2))).isEqualTo(412);
        assertThat(FencingHeader.status(new Admission.Missing("r", 1))).isEqualTo(404);
    }

    @Test
    void carriesTheKindOfTheLeaseAndTakesItsAbsenceForAWriter() {
        for (Access access : Access.values()) {
            assertThat(FencingHeader.parseAccess(FencingHeader.format(access))).isEqualTo(access);
            assertThat(FencingHeader.parseAccess(" " + FencingHeader.format(access) + "\t"))
                    .isEqualTo(access);
        }
        assertThat(FencingHeader.format(Access.READ)).isEqualTo("read");
        assertThat(FencingHeader.parseAccess(null)).isEqualTo(Access.WRITE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "READ", "Read", "reader", "read, write", "read,read", "0", "read\r\nX: y"})
    void refusesEveryOtherKindWithoutRepeatingIt(String value) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FencingHeader.parseAccess(value))
                .withMessageNotContaining("\r")
                .withMessageContaining(FencingHeader.ACCESS);
    }
}
