package io.leasehold.cli.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that columns stand under their headings. */
@Tag("quick")
class TableTest {

    @Test
    void eachColumnIsAsWideAsItsWidestCell() {
        Table table = new Table("A", "LONG HEADING", "END");
        table.row("wide cell", "b", "c");
        table.row("\ud83d\ude80", "", "");

        assertThat(table.lines())
                .containsExactly("A          LONG HEADING  END", "wide cell  b             c", "\ud83d\ude80");
    }

    @Test
    void aCellIsShownWithoutWhatWouldMoveTheCursor() {
        Table table = new Table("A", "B");
        table.row("x\n\u001b[2J", "y");

        assertThat(table.lines()).hasSize(2).noneMatch(line -> line.chars().anyMatch(Character::isISOControl));
    }

    @Test
    void aRowHasAsManyCellsAsThereAreColumns() {
        Table table = new Table("A", "B");

        assertThatThrownBy(() -> table.row("a")).hasMessageContaining("1 cells in a table of 2");
    }
}
