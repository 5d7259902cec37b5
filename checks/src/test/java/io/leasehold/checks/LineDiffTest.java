package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("quick")
class LineDiffTest {

    @Test
    void equalTextsDoNotDiffer() {
        assertThat(LineDiff.between(List.of("a", "b"), List.of("a", "b"))).isEmpty();
        assertThat(LineDiff.between(List.of(), List.of())).isEmpty();
    }

    @Test
    void changedLinesStandBetweenTheirNeighbours() {
        assertThat(LineDiff.between(List.of("a", "b", "c", "d", "e"), List.of("a", "b", "c", "x", "e")))
                .containsExactly("  b", "  c", "- d", "+ x", "  e");
    }

    @Test
    void changesFarApartAreShownApart() {
        List<String> before = List.of("1", "2", "3", "4", "5", "6", "7", "8");
        List<String> after = List.of("2", "3", "4", "5", "6", "7", "8", "9");
        assertThat(LineDiff.between(before, after)).containsExactly("- 1", "  2", "  3", "...", "  7", "  8", "+ 9");
    }

    @Test
    void aNewTextIsAllAdded() {
        assertThat(LineDiff.between(List.of(), List.of("a"))).containsExactly("+ a");
        assertThat(LineDiff.between(List.of("a"), List.of())).containsExactly("- a");
    }
}
