"""What stands in a column of a table, by its title and the group that it is of."""


def column(table, title, group=""):
    (found,) = [
        i for i, c in enumerate(table.columns) if c.title == title and c.group.split("\n")[0] == group
    ]
    return [row[found] for row in table.rows]


def texts(table, title, group=""):
    return [cell.text for cell in column(table, title, group)]


def notes(table, title, row, group=""):
    return list(column(table, title, group)[row].notes)
