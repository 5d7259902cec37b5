-- Lua prints large numbers as 1.7e+15; the wire format needs all digits.
local function digits(number)
  return string.format('%.0f', number)
end

-- Reads a decimal number: 0 if the text is absent, nil if it is not a number.
local function number_in(text)
  if not text then
    return 0
  end
  return #text <= 16 and text:match('^%d+$') and tonumber(text) or nil
end
